package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func newValidate(st *streams) *cobra.Command {
	var profile string
	var unfinished bool
	cmd := &cobra.Command{
		Use:   "validate [FILE|-]",
		Short: "Check a stream of envelopes, one JSON object a line",
		Long: `Checks every envelope and the rules of the whole stream: turns alternate, each
tool call ends once, asks have one answer, sub-agents are bracketed, times never
go back. Each fault is one line on standard output:

  LINE: path: want ..., got ...

Exit code 1 when there is a fault.`,
		Example: `  agenthost run gemini -p hello --output envelopes | agenthost validate
  agenthost validate journal.ndjson`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in := st.in
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return usage("name a readable file, or - for standard input", "%v", err)
				}
				defer f.Close()
				in = f
			}
			return validate(in, st.out, profile, unfinished)
		},
	}
	addProfile(cmd, &profile)
	cmd.Flags().BoolVar(&unfinished, "unfinished", false, "the stream is still being written: open turns and calls are no faults")
	return cmd
}

// maxEnvelopeLine is the longest line that validate takes, in bytes. A journal's
// lines are far shorter: tool output is cut at 256 KiB by default.
const maxEnvelopeLine = 256 << 20

func validate(in io.Reader, out io.Writer, name string, unfinished bool) error {
	profile, err := parseProfile(name)
	if err != nil {
		return err
	}
	v := newStreamValidator(profile)
	lines, faults := 0, 0
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 64<<10), maxEnvelopeLine)
	for sc.Scan() {
		lines++
		if len(sc.Bytes()) == 0 {
			continue
		}
		for _, f := range v.line(lines, sc.Bytes()) {
			faults++
			if _, err := fmt.Fprintln(out, f); err != nil {
				return err
			}
		}
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line %d: want at most %d bytes", lines+1, maxEnvelopeLine)
		}
		return &problem{code: exitFailed, what: err.Error()}
	}
	if !unfinished {
		for _, f := range v.end(lines) {
			faults++
			if _, err := fmt.Fprintln(out, f); err != nil {
				return err
			}
		}
	}
	if lines == 0 {
		return &problem{code: exitFailed, what: "no envelopes: the input is empty"}
	}
	if faults > 0 {
		return &problem{code: exitFailed, what: fmt.Sprintf("%d faults in %d lines", faults, lines)}
	}
	return nil
}
