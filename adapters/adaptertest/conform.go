package adaptertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
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
	visit := func(n int, p *player) {
		if p.exited {
			return
		}
		key := fmt.Sprint(p.openID != "", p.opened, p.busy(), p.drafts.turn, p.aborting, len(p.asks), len(p.drafts.calls), len(p.drafts.agents))
		if n > 0 {
			key += lastKind(s, rec.Records[n-1])
		}
		if v[key]++; v[key] <= maxVisits {
			out = append(out, n)
		}
	}
	p := newPlayer(s, rec.File)
	p.open()
	visit(0, p)
	for i, r := range rec.Records {
		p.play(i, r)
		visit(i+1, p)
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

// upTo plays the first n records.
func upTo(s Suite, rec recording, n int) *player {
	p := newPlayer(s, rec.File)
	p.open()
	for i, r := range rec.Records[:n] {
		p.play(i, r)
	}
	return p
}

// close ends a replay and returns everything that was wrong with it.
func (p *player) close() []string {
	p.finish()
	faults := p.faults
	for _, f := range streamFaults(p.envs) {
		faults = append(faults, "stream: "+f)
	}
	return faults
}

func purityFaults(s Suite, rec recording) []string {
	first := replay(s, rec, func(p *player) { p.snap = true })
	second := replay(s, rec, func(p *player) { p.snap, p.scribble = true, true })
	var out []string
	for i, c := range first.calls {
		if again := encodeCall(c, first.base); string(again) != string(first.snapshots[i]) {
			out = append(out, fmt.Sprintf("the Step of call %d changed after it was returned: %s", i, firstDiff(first.snapshots[i], again)))
		}
	}
	for i, c := range second.calls {
		if again := encodeCall(c, second.base); string(again) != string(second.snapshots[i]) {
			out = append(out, fmt.Sprintf("the Step of call %d shares memory with a frame: %s", i, firstDiff(second.snapshots[i], again)))
		}
	}
	for i := range min(len(first.snapshots), len(second.snapshots)) {
		if string(first.snapshots[i]) != string(second.snapshots[i]) {
			out = append(out, "two equal runs, the frames' memory used again in one, differ: "+firstDiff(first.snapshots[i], second.snapshots[i]))
			break
		}
	}
	if len(first.snapshots) != len(second.snapshots) {
		out = append(out, fmt.Sprintf("two equal runs have %d and %d calls", len(first.snapshots), len(second.snapshots)))
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
			p.exit(status)
			out = append(out, p.close()...)
		}
	}
	// A child that never started: no Open, no frame.
	p := newPlayer(s, rec.File)
	p.exit(adapters.ExitStatus{Code: -1, Err: "not found"})
	return append(out, p.close()...)
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
		if !p.drafts.turn {
			continue
		}
		_, before := turns(p.envs)
		p.abort()
		p.abort()
		// Nothing comes from the agent any more: the turn ends all the same.
		p.ticks = false
		p.advance(p.now.Add(10 * time.Minute))
		if _, after := turns(p.envs); after != before+1 && !p.stopped() {
			out = append(out, fmt.Sprintf("abort before record %d: %d turn-ends, want 1 (or Stop) within ten minutes", n, after-before))
		}
		out = append(out, p.close()...)

		// The agent goes on as recorded.
		p = upTo(s, rec, n)
		p.abort()
		for i, r := range rec.Records[n:] {
			p.play(n+i, r)
		}
		out = append(out, p.close()...)
		if starts, ends := turns(p.envs); starts != ends {
			out = append(out, fmt.Sprintf("abort before record %d: %d turn-starts and %d turn-ends", n, starts, ends))
		}
	}
	return out
}

// stopped reports whether the Protocol gave up on its child.
func (p *player) stopped() bool {
	return slices.ContainsFunc(p.calls, func(c Call) bool { return c.Step.Stop != "" })
}

// Replayed is what a replay gave, for an adapter's own tests.
type Replayed struct {
	Calls     []Call
	Envelopes []contract.Envelope
	// Faults are what the Protocol did wrong, Notes what of the recording could
	// not be matched.
	Faults, Notes []string
}

// Play replays one transcript as Golden does.
func Play(s Suite, f transcript.File) Replayed {
	p := replay(s, recording{File: f}, nil)
	return Replayed{Calls: p.calls, Envelopes: p.envs, Faults: append(p.faults, streamFaults(p.envs)...), Notes: p.mapper.Notes()}
}
