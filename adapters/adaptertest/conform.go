package adaptertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
)

// Conform checks what every adapter owes the seam, in every state that the
// suite's recordings reach:
//
//   - Describe has a claim for each capability; Launch is pure and keeps to its
//     directory.
//   - Equal calls give equal Steps; no Step changes afterwards, also when the
//     frames' memory is used again.
//   - Exit ends the turn, its calls and its sub-agents, gives the commands that
//     wait their outcome, and writes nothing.
//   - Each command is taken or refused without harm; steer, rewind, fork and stash
//     are taken exactly when the capability is claimed.
//   - An abort ends the turn, once.
//   - Messages and members of a newer agent, and lines that are no messages,
//     change nothing.
func Conform(t *testing.T, s Suite) {
	recs := s.recordings(t)
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			for _, fault := range c.run(s, recs) {
				t.Error(fault)
			}
		})
	}
}

type check struct {
	name string
	run  func(Suite, []recording) []string
}

func checks() []check {
	return []check{
		{"describe", describeFaults},
		{"launch", launchFaults},
		{"purity", each(purityFaults)},
		{"exit", eachState(exitFaults)},
		{"commands", eachState(commandFaults)},
		{"asks", each(askFaults)},
		{"abort", eachState(abortFaults)},
		{"grease", each(greaseFaults)},
		{"garbage", each(garbageFaults)},
		{"capabilities", capabilityFaults},
	}
}

// each runs a check for each recording and names the recording in its faults. At
// most a few faults of one recording are told: they tend to have one cause.
func each(one func(Suite, recording) []string) func(Suite, []recording) []string {
	const most = 5
	return func(s Suite, recs []recording) []string {
		var out []string
		for _, rec := range recs {
			faults := unique(one(s, rec))
			if len(faults) > most {
				faults = append(faults[:most:most], fmt.Sprintf("and %d more", len(faults)-most))
			}
			for _, f := range faults {
				out = append(out, rec.name+": "+f)
			}
		}
		return out
	}
}

// unique drops repetitions and keeps the order.
func unique(in []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(in, func(s string) bool {
		dup := seen[s]
		seen[s] = true
		return dup
	})
}

// visits counts how often a kind of state was tried.
type visits map[string]int

// maxVisits bounds it: many recordings reach the same kinds of states.
const maxVisits = 2

// eachState is each for checks that try something in the states of a recording.
func eachState(one func(Suite, recording, visits) []string) func(Suite, []recording) []string {
	return func(s Suite, recs []recording) []string {
		seen := visits{}
		return each(func(s Suite, rec recording) []string { return one(s, rec, seen) })(s, recs)
	}
}

// states are the numbers of records after which a recording is in a state of a
// kind that was not tried often enough yet.
func (v visits) states(s Suite, rec recording) []int {
	var out []int
	visit := func(n int, at replay.State) {
		if at.Exited {
			return
		}
		key := fmt.Sprint(at)
		if n > 0 {
			key += lastKind(s, rec.Records[n-1])
		}
		if v[key]++; v[key] <= maxVisits {
			out = append(out, n)
		}
	}
	p := opened(s, rec)
	visit(0, p.State())
	for n := 1; p.Next(); n++ {
		visit(n, p.State())
	}
	return out
}

// lastKind names a record by its direction and native types.
func lastKind(s Suite, r transcript.Record) string {
	kind := string(r.Dir)
	if f, ok := r.Frame(); ok && s.Wire != nil {
		kind += fmt.Sprint(s.Wire.Types(f))
	}
	return kind
}

// run is a replay with its calls as they were when they returned.
type run struct {
	replay.Result
	then [][]byte
}

// snapshot is a call as it is now.
func snapshot(c Call) []byte { return encodeCall(c, time.UnixMilli(0)) }

func snapshots(s Suite, rec recording, after func([]byte)) run {
	var r run
	r.Result = played(s, rec, replay.Hooks{After: after, Called: func(c Call) { r.then = append(r.then, snapshot(c)) }})
	return r
}

// changed tells each call that is not what it was.
func (r run) changed(cause string) []string {
	var out []string
	for i, c := range r.Calls {
		if now := snapshot(c); string(now) != string(r.then[i]) {
			out = append(out, fmt.Sprintf("the Step of call %d %s: %s", i, cause, firstDiff(r.then[i], now)))
		}
	}
	return out
}

// scribble is what a reader's next line does to the memory of the last one.
func scribble(data []byte) {
	for i := range data {
		data[i] = '~'
	}
}

func purityFaults(s Suite, rec recording) []string {
	first, second := snapshots(s, rec, nil), snapshots(s, rec, scribble)
	out := append(first.changed("changed after it was returned"), second.changed("shares memory with a frame")...)
	for i := range min(len(first.then), len(second.then)) {
		if string(first.then[i]) != string(second.then[i]) {
			out = append(out, "two equal runs, the frames' memory used again in one, differ: "+firstDiff(first.then[i], second.then[i]))
			break
		}
	}
	if len(first.then) != len(second.then) {
		out = append(out, fmt.Sprintf("two equal runs have %d and %d calls", len(first.then), len(second.then)))
	}
	return out
}

func exitFaults(s Suite, rec recording, seen visits) []string {
	var out []string
	statuses := []adapters.ExitStatus{
		{Code: 0, Requested: true},
		{Code: 1, Stderr: "fatal: no such key"},
		{Code: -1, Signal: "SIGKILL"},
		{Code: -1, Err: "fork/exec x: no such file or directory"},
	}
	for _, n := range seen.states(s, rec) {
		for _, status := range statuses {
			p := upTo(s, rec, n)
			p.Exit(status)
			out = append(out, p.Close().Faults...)
		}
	}
	// A child that never started: no Open, no frame.
	p := replay.New(s.config(), rec.File)
	p.Exit(adapters.ExitStatus{Code: -1, Err: "not found"})
	return append(out, p.Close().Faults...)
}

// turns counts the turns of a stream.
func turns(envs []contract.Envelope) (starts, ends int) {
	for _, e := range envs {
		switch e.Event.(type) {
		case contract.TurnStart:
			starts++
		case contract.TurnEnd:
			ends++
		}
	}
	return starts, ends
}

func abortFaults(s Suite, rec recording, seen visits) []string {
	var out []string
	for _, n := range seen.states(s, rec) {
		p := upTo(s, rec, n)
		if !p.State().Turn {
			continue
		}
		_, before := turns(p.Envelopes())
		p.Abort()
		p.Abort()
		// Nothing comes from the agent any more: the turn ends all the same.
		p.Wait(10 * time.Minute)
		if _, after := turns(p.Envelopes()); after != before+1 && !stopped(p) {
			out = append(out, fmt.Sprintf("abort before record %d: %d turn-ends, want 1 (or Stop) within ten minutes", n, after-before))
		}
		out = append(out, p.Close().Faults...)

		// The agent goes on as recorded.
		p = upTo(s, rec, n)
		p.Abort()
		for p.Next() {
		}
		out = append(out, p.Close().Faults...)
		if starts, ends := turns(p.Envelopes()); starts != ends {
			out = append(out, fmt.Sprintf("abort before record %d: %d turn-starts and %d turn-ends", n, starts, ends))
		}
	}
	return out
}

// stopped reports whether the Protocol gave up on its child.
func stopped(p *replay.Player) bool {
	return slices.ContainsFunc(p.Calls(), func(c Call) bool { return c.Step.Stop != "" })
}
