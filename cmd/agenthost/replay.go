package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
)

func newReplay(st *streams) *cobra.Command {
	var profile, agent string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a recorded session through its translator and print the envelopes",
		Long: `Reads a transcript made with "agenthost run --record" and prints the envelopes
that the translator makes of it, with ids that are counted, so that the output of
two replays is the same. Lines that cannot be read and what the translator did
wrong go to standard error, and the exit code is 1.`,
		Example: "  agenthost run gemini -p hello --record hello.jsonl\n  agenthost replay hello.jsonl | agenthost validate",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := parseProfile(profile)
			if err != nil {
				return err
			}
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return replayFile(st, agentSet(cfg), args[0], agent, p)
		},
	}
	addProfile(cmd, &profile)
	cmd.Flags().StringVar(&agent, "agent", "", "`AGENT` whose translator to use (default: the transcript's)")
	completeFlags(cmd, map[string]completer{"agent": completeAgents, "profile": oneOfThese("extended", "strict")})
	return cmd
}

func replayFile(st *streams, set adapters.Set, path, agent string, profile contract.Profile) error {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return usage("name a transcript", "%v", err)
	}
	defer f.Close()
	file, err := transcript.Read(f)
	if err != nil {
		return &problem{code: exitFailed, what: err.Error(), mend: "make one with agenthost run --record FILE"}
	}
	if agent == "" {
		agent = file.Header.Agent
	}
	a, ok := set.Get(agent)
	switch {
	case agent == anyACP:
		a = customACP(file.Header.Command)
	case !ok:
		return usage("name it with --agent", "%v", unknownAgent(agent, append(set.Names(), anyACP)))
	}
	played := replay.Play(replay.Config{Adapter: a}, file)
	for _, env := range played.Envelopes {
		env, ok := profile.Apply(env)
		if !ok {
			continue
		}
		line, err := contract.Encode(env)
		if err != nil {
			return &problem{code: exitFailed, what: err.Error()}
		}
		if _, err := fmt.Fprintf(st.out, "%s\n", line); err != nil {
			return err
		}
	}
	return replayFaults(st.err, file, played)
}

// replayFaults tells what is wrong with the recording and with the translator.
func replayFaults(w io.Writer, file transcript.File, played replay.Result) error {
	for _, bad := range file.Bad {
		fmt.Fprintln(w, bad)
	}
	for _, fault := range played.Faults {
		fmt.Fprintln(w, fault)
	}
	var what []string
	if n := len(file.Bad); n > 0 {
		what = append(what, fmt.Sprintf("%d lines of the recording cannot be read", n))
	}
	if n := len(played.Faults); n > 0 {
		what = append(what, fmt.Sprintf("%d faults of the translator", n))
	}
	if what == nil {
		return nil
	}
	return &problem{code: exitFailed, what: strings.Join(what, ", ")}
}
