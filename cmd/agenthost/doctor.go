package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/permission/policy"
)

// finding is one thing that the doctor looked at.
type finding struct {
	Check  string `json:"check"`
	Status health `json:"status"`
	// Detail is what was found, Mend what to do about it.
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitzero"`
}

// health is how well something is: what is only worth a look does not fail.
type health string

const (
	healthy  health = "ok"
	doubtful health = "warning"
	ill      health = "failure"
)

func newDoctor(st *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what agenthost needs of this machine, and say the mend",
		Long: `Checks the configuration and its rules, the state directory and the room on its
disk, the clock, whether processes can be supervised and terminals made, and the
agents with the versions that agenthost was tested with.

Exit code 1 when something does not work; a warning is worth a look.`,
		Example: "  agenthost doctor\n  agenthost doctor --json | jq '.checks[] | select(.status != \"ok\")'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := examine(cmd)
			failed := 0
			for _, f := range found {
				if f.Status == ill {
					failed++
				}
			}
			if err := printFindings(st, asJSON, found, failed == 0); err != nil {
				return err
			}
			if failed > 0 {
				return &problem{code: exitFailed, what: fmt.Sprintf("%d of %d checks failed", failed, len(found))}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printFindings(st *streams, asJSON bool, found []finding, ok bool) error {
	if asJSON {
		return printJSON(st.out, struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{ok, found})
	}
	tw := tabwriter.NewWriter(st.out, 0, 0, 2, ' ', 0)
	for _, f := range found {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", f.Status, f.Check, indented(f.Detail))
		if f.Mend != "" {
			fmt.Fprintf(tw, "\t\t  %s\n", indented(f.Mend))
		}
	}
	return tw.Flush()
}

// indented keeps the lines of a text in their column.
func indented(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t\t") }

// examine looks at everything. What needs the configuration is left out when that
// cannot be read.
func examine(cmd *cobra.Command) []finding {
	cfg, err := loadConfig(cmd)
	found := []finding{checkConfig(cfg, err)}
	if err == nil {
		found = append(found, checkPolicy(cfg), checkState(cfg.StateDir), checkDisk(cfg.StateDir), checkClock(cfg.StateDir, time.Now()))
	}
	found = append(found, checkSupervisor(cmd.Context()), checkTerminal())
	if err == nil {
		found = append(found, checkAgents(cmd.Context(), agentSet(cfg))...)
	}
	return found
}

func checkConfig(cfg configuration, err error) finding {
	f := finding{Check: "config", Status: healthy, Detail: cfg.File}
	if err != nil {
		f.Status, f.Detail, f.Mend = ill, err.Error(), "agenthost config schema lists every key"
		return f
	}
	if f.Detail == "" {
		f.Detail = "no file; the defaults"
	}
	if w := warnings(cfg); len(w) > 0 {
		f.Status, f.Mend = doubtful, strings.Join(w, "; ")
	}
	return f
}

func checkPolicy(cfg configuration) finding {
	f := finding{Check: "policy", Status: healthy}
	p, err := basePolicy(cfg, policy.HostEnv())
	if err != nil {
		f.Status, f.Detail, f.Mend = ill, err.Error(), "see docs/permissions.md for the rules"
		return f
	}
	sum := policy.Check(p, runnable(agentSet(cfg)))
	f.Detail = fmt.Sprintf("%d deny, %d ask, %d allow; mode %s", sum.Deny, sum.Ask, sum.Allow, sum.Mode)
	if len(sum.Warnings) > 0 {
		f.Status, f.Mend = doubtful, strings.Join(sum.Warnings, "; ")
	}
	return f
}

// checkAgents has a finding for each installed agent, and one for all others.
func checkAgents(ctx context.Context, set adapters.Set) []finding {
	var found []finding
	var missing []string
	for _, a := range probeAll(ctx, set) {
		if !a.Installed {
			missing = append(missing, a.Name)
			continue
		}
		found = append(found, checkAgent(a))
	}
	if found == nil {
		return []finding{{
			Check: "agents", Status: doubtful, Detail: "none is installed, of " + strings.Join(missing, ", "),
			Mend: "agenthost agents says how to install each",
		}}
	}
	return append(found, finding{Check: "agents", Status: healthy, Detail: fmt.Sprintf("%d installed, %d not", len(found), len(missing))})
}

func checkAgent(a agentInfo) finding {
	f := finding{Check: a.Name, Status: healthy, Detail: a.Version}
	switch {
	case a.Version == "":
		f.Status, f.Detail, f.Mend = doubtful, a.Path+" does not say its version", "run it by hand to see why"
	case len(a.Tested) == 0:
	case !tested(a.Version, a.Tested):
		f.Status = doubtful
		f.Mend = "agenthost was tested with " + strings.Join(a.Tested, " and ") + "; should something be odd, try that one"
	}
	return f
}

// tested reports whether what an agent says of its version names one of the list.
func tested(said string, list []string) bool {
	for word := range strings.FieldsFuncSeq(said, func(r rune) bool { return strings.ContainsRune(" \t,;()", r) }) {
		for _, v := range list {
			if strings.TrimPrefix(word, "v") == v {
				return true
			}
		}
	}
	return false
}

// platform is for people who report a trouble.
func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
