package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/permission/policy"
)

// completer gives the values that a shell offers for a flag or an argument.
type completer = cobra.CompletionFunc

// completeRun offers what the flags of run take.
func completeRun(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault // for the agent
		}
		return completeAgents(cmd, args, word)
	}
	completeFlags(cmd, map[string]completer{
		"input":   oneOfThese("text", "envelopes"),
		"output":  oneOfThese("tui", "text", "envelopes", "events", "junit"),
		"profile": oneOfThese("extended", "strict"),
		"mode":    oneOfThese("default", "acceptEdits", "plan", "bypassPermissions"),
		"on-ask":  oneOfThese("wait", "deny", "fail", "prompt"),
		"resume":  completeSessions, "fork": completeSessions,
		"allow": completeRules, "ask": completeRules, "deny": completeRules,
		"policy": yamlFiles, "cwd": directories, "add-dir": directories,
	})
}

// completeFlags registers completers. A flag that is not there is a mistake in this
// program, which any use of the command would show.
func completeFlags(cmd *cobra.Command, flags map[string]completer) {
	for name, f := range flags {
		if err := cmd.RegisterFlagCompletionFunc(name, f); err != nil {
			panic(fmt.Sprintf("completion of %s --%s: %v", cmd.Name(), name, err))
		}
	}
}

func oneOfThese(values ...string) completer {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

func yamlFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeAgents offers the agents that run knows.
func completeAgents(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	set := agentSet(cfg)
	var list []cobra.Completion
	for _, name := range runnable(set) {
		title := "any agent that speaks ACP, behind --"
		if name == ptyAgent {
			title = "any program of the terminal, behind --"
		}
		if a, ok := set.Get(name); ok {
			title = a.Describe().Title
		}
		list = append(list, offer(name, title))
	}
	return beginning(list, word), cobra.ShellCompDirectiveNoFileComp
}

// completeSessions offers the sessions of this machine, the newest first, of the
// agent that was named.
func completeSessions(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, err := host.List(cfg.StateDir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list := []cobra.Completion{offer("last", "the newest")}
	for _, m := range all {
		if m.Facts.NativeSession == "" || len(args) > 0 && m.Agent != args[0] {
			continue
		}
		what := m.Title
		if what == "" {
			what = m.Facts.Title
		}
		list = append(list, offer(m.ID, m.Agent+" "+what))
	}
	return beginning(list, word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeRules offers the tools that rules are about, and the config's own rules.
func completeRules(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := policy.Tools()
	if cfg, err := loadConfig(cmd); err == nil {
		for _, r := range cfg.Permissions.Rules {
			list = append(list, r.Allow+r.Ask+r.Deny) // it has one of them
		}
	}
	return beginning(list, word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// offer is a value with what it is.
func offer(value, what string) cobra.Completion {
	return cobra.CompletionWithDesc(value, present.Line(strings.TrimSpace(what)))
}

// beginning keeps what begins with what was typed.
func beginning(list []cobra.Completion, word string) []cobra.Completion {
	return slices.DeleteFunc(list, func(c cobra.Completion) bool { return !strings.HasPrefix(c, word) })
}
