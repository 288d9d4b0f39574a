package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpOf is what a command line prints.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, &streams{in: strings.NewReader(""), out: &out, err: &errs}); code != exitOK || errs.Len() > 0 {
		t.Fatalf("agenthost %q: exit code %d, %s", args, code, errs.String())
	}
	return out.String()
}

// The help of every command fits a screen. That of agenthost itself lists the
// commands, of which there are many.
func TestHelpFitsAScreen(t *testing.T) {
	const lines, columns = 40, 100
	var visit func(cmd *cobra.Command, path []string)
	visit = func(cmd *cobra.Command, path []string) {
		help := helpOf(t, append(path, "--help")...)
		if n := strings.Count(help, "\n"); n > lines && len(path) > 0 {
			t.Errorf("agenthost %s --help has %d lines, want at most %d", strings.Join(path, " "), n, lines)
		}
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(line); n > columns+1 {
				t.Errorf("agenthost %s --help has a line of %d columns, want at most %d: %s", strings.Join(path, " "), n, columns, line)
			}
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				visit(sub, append(path[:len(path):len(path)], sub.Name()))
			}
		}
	}
	visit(newRoot(&streams{}), nil)
}

func TestHelpAllHasEveryFlag(t *testing.T) {
	brief, all := helpOf(t, "run", "--help"), helpOf(t, "run", "--help-all")
	for _, flag := range []string{"--prompt", "--allow", "--help-all"} {
		if !strings.Contains(brief, flag) || !strings.Contains(all, flag) {
			t.Errorf("%s is not in both helps", flag)
		}
	}
	for _, flag := range []string{"--record", "--max-turns", "--requeue"} {
		if strings.Contains(brief, flag) || !strings.Contains(all, flag) {
			t.Errorf("%s is not in --help-all alone", flag)
		}
	}
	for _, name := range commonFlags() {
		if !strings.Contains(brief, "--"+name) {
			t.Errorf("run has no common flag --%s", name)
		}
	}
}
