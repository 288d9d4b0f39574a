package adaptertest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// seven are the capabilities, in the order of the session contract.
func seven() []session.Capability {
	return []session.Capability{
		session.CapSteer, session.CapQueue, session.CapRewind, session.CapFork, session.CapStash, session.CapDiff, session.CapReasoning,
	}
}

func describeFaults(s Suite, _ []recording) []string {
	var out []string
	d := s.Adapter.Describe()
	switch {
	case s.Adapter.Name() == "" || strings.ContainsAny(s.Adapter.Name(), " /\t\n"):
		out = append(out, fmt.Sprintf("Name = %q, want one word", s.Adapter.Name()))
	case d.Title == "":
		out = append(out, "Describe: no title")
	}
	seen := map[session.Capability]int{}
	for _, c := range d.Claims {
		seen[c.Capability]++
		if !slices.Contains(seven(), c.Capability) {
			out = append(out, fmt.Sprintf("Describe: claim of capability %q, which is none of the seven", c.Capability))
		}
		if !c.Supported && c.Reason == "" {
			out = append(out, fmt.Sprintf("Describe: lacks %q without a reason", c.Capability))
		}
	}
	for _, c := range seven() {
		if seen[c] != 1 {
			out = append(out, fmt.Sprintf("Describe: %d claims of %q, want 1", seen[c], c))
		}
	}
	if !reflect.DeepEqual(d, s.Adapter.Describe()) {
		out = append(out, "Describe: two calls differ")
	}
	return out
}

// launchFaults checks Launch in a directory whose content is looked at after it.
func launchFaults(s Suite, _ []recording) []string {
	dir, err := os.MkdirTemp("", "launch")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	var out []string
	req := adapters.LaunchRequest{
		Dir: "/w", SessionID: "s1", StateDir: dir, Args: []string{"--person's-own"},
		Getenv: func(string) string { return "" }, Options: s.Options,
	}
	first, err := s.Adapter.Launch(req)
	if err != nil {
		return append(out, fmt.Sprintf("Launch = error %v", err))
	}
	second, err := s.Adapter.Launch(req)
	if err != nil || !reflect.DeepEqual(first, second) {
		out = append(out, fmt.Sprintf("two Launches differ: %+v and %+v, %v", first, second, err))
	}
	if len(first.Argv) == 0 || first.Argv[0] == "" {
		out = append(out, "Launch: no command")
	}
	if !slices.Contains(first.Argv, "--person's-own") {
		out = append(out, fmt.Sprintf("Launch: %q lacks the person's arguments", first.Argv))
	}
	for _, f := range first.Files {
		if rel, err := filepath.Rel(dir, f.Path); err != nil || !filepath.IsLocal(rel) {
			out = append(out, fmt.Sprintf("Launch: file %s lies outside of the state directory", f.Path))
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		out = append(out, fmt.Sprintf("Launch wrote %d files itself, %v", len(entries), err))
	}
	req.Command = []string{"/opt/wrapper", "--inside"}
	wrapped, err := s.Adapter.Launch(req)
	if err != nil || len(wrapped.Argv) < 2 || !slices.Equal(wrapped.Argv[:2], req.Command) {
		out = append(out, fmt.Sprintf("Launch with a command of its own = %q, %v, want it to begin with %q", wrapped.Argv, err, req.Command))
	}
	return out
}

// capabilityFaults compares what is claimed with what is seen.
func capabilityFaults(s Suite, recs []recording) []string {
	var out []string
	claimed := map[session.Capability]bool{}
	for _, c := range s.Adapter.Describe().Claims {
		claimed[c.Capability] = c.Supported
	}
	diff, reasoning := false, false
	for _, rec := range recs {
		out = append(out, growth(s, rec, claimed)...)
		for _, e := range Play(s, rec.File).Envelopes {
			switch ev := e.Event.(type) {
			case contract.ToolCallEnd:
				diff = diff || ev.Result != nil && len(ev.Result.Files) > 0
			case contract.Text:
				reasoning = reasoning || ev.Thinking
			}
		}
	}
	for _, c := range []struct {
		name session.Capability
		seen bool
	}{{session.CapDiff, diff}, {session.CapReasoning, reasoning}} {
		if claimed[c.name] != c.seen {
			out = append(out, fmt.Sprintf("%s: claimed %v, seen in the recordings %s %v", c.name, claimed[c.name], names(recs), c.seen))
		}
	}
	return unique(out)
}

// growth follows the capabilities through a replay.
func growth(s Suite, rec recording, claimed map[session.Capability]bool) []string {
	var out []string
	p := replay.New(s.config(), rec.File)
	var before []session.Capability
	look := func() {
		now := p.Capabilities()
		for _, c := range before {
			if !slices.Contains(now, c) {
				out = append(out, fmt.Sprintf("%s: capability %q went away", rec.name, c))
			}
		}
		for i, c := range now {
			if slices.Contains(now[:i], c) || !slices.Contains(seven(), c) {
				out = append(out, fmt.Sprintf("%s: capabilities %q, want each of the seven once at most", rec.name, now))
			}
			if !claimed[c] {
				out = append(out, fmt.Sprintf("%s: the session has %q, which Describe does not claim", rec.name, c))
			}
		}
		before = now
	}
	look()
	p.Open()
	look()
	for p.Next() {
		look()
	}
	p.Close()
	look()
	return out
}
