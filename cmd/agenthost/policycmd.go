package main

import (
	"encoding/json/jsontext"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

func newPolicy(st *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check, explain and test the rules that decide what agents may do",
		Long: `Rules allow, ask or deny uses of a tool, as TOOL or TOOL(PATTERN, ...):

  deny:  edit(**/.env*)
  allow: bash(git status *, go test ./...)
  ask:   web-fetch(*)

They are the config's permissions.rules, or stand in a file of their own, or in
--allow, --ask and --deny of agenthost run. The strictest that matches wins; what
none matches is asked. docs/permissions.md has the rest.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyCheck(st), newPolicyExplain(st), newPolicyTest(st))
	return cmd
}

func newPolicyCheck(st *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "check [FILE]",
		Short:   "Check a policy file, or the config's rules, and list what they cover",
		Example: "  agenthost policy check ci.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := policyOf(cmd, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return writeAs(st.out, asJSON, policy.Check(p, agentNames(cmd)))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// policyOf reads a policy file, or the config's rules when there is none.
func policyOf(cmd *cobra.Command, file string) (*policy.Policy, error) {
	env := policy.HostEnv()
	if file != "" {
		p, err := policyFile(file, env)
		if err != nil {
			return nil, err
		}
		return policy.Join(p), nil
	}
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	return basePolicy(cfg, env)
}

// agentNames are the agents that there are, nil for a config that cannot be read: a
// policy file is checked without it.
func agentNames(cmd *cobra.Command) []string {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil
	}
	return runnable(agentSet(cfg))
}

// warnOfAgent tells of the name of an agent that there is not: no rule for one holds for it.
func warnOfAgent(st *streams, at, name string, known []string) {
	if name != "" && known != nil && !slices.Contains(known, name) {
		fmt.Fprintf(st.err, "agenthost: warning: %s: %v\n", at, unknownAgent(name, known))
	}
}

// rendered is a value of package policy that can be shown.
type rendered interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

func writeAs(w io.Writer, asJSON bool, v rendered) error {
	if asJSON {
		return v.WriteJSON(w)
	}
	return v.WriteText(w)
}

// explainFlags are the flags of `agenthost policy explain`.
type explainFlags struct {
	policy, tool, args, cwd, agent, mode string
	json                                 bool
}

func newPolicyExplain(st *streams) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain [USE]",
		Short: "Say which part of a tool use meets which rule, and why",
		Example: `  agenthost policy explain 'bash: git status && curl x | sh'
  agenthost policy explain --policy ci.yaml --tool edit --args '{"path":"src/.env"}' --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.explain(cmd, st, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.policy, "policy", "", "policy `FILE` (default: the config's rules)")
	fl.StringVar(&f.tool, "tool", "", "`TOOL`, like bash")
	fl.StringVar(&f.args, "args", "", "its arguments, a `JSON` object")
	fl.StringVar(&f.cwd, "cwd", "", "`DIR` of the session (default: this one)")
	fl.StringVar(&f.agent, "agent", "", "`AGENT` that asks")
	fl.StringVar(&f.mode, "mode", "", "permission `MODE` of the session")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *explainFlags) explain(cmd *cobra.Command, st *streams, args []string) error {
	p, err := policyOf(cmd, f.policy)
	if err != nil {
		return err
	}
	tool, input := f.tool, jsontext.Value(f.args)
	switch {
	case len(args) == 1 && tool != "":
		return usage("give one of them", "want a use or --tool, got both")
	case len(args) == 1:
		if tool, input, err = policy.ParseUse(args[0]); err != nil {
			return usage("write it like 'bash: git status'", "%v", err)
		}
	case tool == "":
		return usage("write it like 'bash: git status'", "want a use or --tool, got none")
	case f.args != "" && (!input.IsValid() || input.Kind() != '{'):
		return usage(`write them like --args '{"command":"ls"}'`, "--args: want a JSON object, got %q", f.args)
	}
	mode, err := policy.ParseMode(f.mode)
	if err != nil {
		return usage("see agenthost policy explain --help", "--mode: %v", err)
	}
	if f.mode == "" {
		mode = p.Mode
	}
	dir, err := filepath.Abs(f.cwd)
	if err != nil {
		return usage("name a directory", "--cwd: %v", err)
	}
	if f.agent != "" {
		warnOfAgent(st, "--agent", f.agent, agentNames(cmd))
	}
	e := policy.Explain(p, policy.Request{Tool: tool, Args: input, Cwd: dir, Agent: f.agent}, contract.PermissionMode(mode))
	return writeAs(st.out, f.json, e)
}

func newPolicyTest(st *streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "test FILE",
		Short:   "Run a table of expectations against a policy; exit code 1 when one fails",
		Example: "  agenthost policy test --policy ci.yaml expectations.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := policyOf(cmd, file)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(args[0])
			if err != nil {
				return usage("name a readable file", "%v", err)
			}
			list, err := policy.ParseTests(data)
			if err != nil {
				return usage("see docs/permissions.md for its form", "%s: %v", args[0], err)
			}
			known := agentNames(cmd)
			for i := range list { // as explain does: none is this directory
				if list[i].Cwd, err = filepath.Abs(list[i].Cwd); err != nil {
					return usage("name a directory", "%s: cwd: %v", list[i].At, err)
				}
				warnOfAgent(st, list[i].At, list[i].Agent, known)
			}
			failed, err := policy.WriteResults(st.out, policy.RunTests(p, list))
			if err != nil {
				return err
			}
			if failed > 0 {
				return &problem{code: exitFailed, what: fmt.Sprintf("%d of %d expectations failed", failed, len(list))}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "policy", "", "policy `FILE` (default: the config's rules)")
	return cmd
}

func newGrants(st *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List and revoke what was allowed always",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGrantsList(st), newGrantsRevoke(st))
	return cmd
}

func newGrantsList(st *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the grants with their origin and how often they were used",
		Example: "  agenthost grants list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withGrants(cmd, func(g *grant.Store) error {
				list, err := g.List()
				if err != nil {
					return &problem{code: exitFailed, what: err.Error()}
				}
				if asJSON {
					return grant.WriteJSON(st.out, list)
				}
				return grant.WriteText(st.out, list, time.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newGrantsRevoke(st *streams) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID ...",
		Short:   "Take grants back; running sessions notice at once",
		Example: "  agenthost grants revoke ckz3…",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withGrants(cmd, func(g *grant.Store) error {
				n, err := g.Revoke(args...)
				if err != nil {
					return usage("agenthost grants list shows the ids", "%v", err)
				}
				_, err = fmt.Fprintf(st.out, "revoked %d\n", n)
				return err
			})
		},
	}
}

func withGrants(cmd *cobra.Command, f func(*grant.Store) error) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return usage("make it writable, or set stateDir", "state directory: %v", err)
	}
	g, err := openGrants(cfg.StateDir)
	if err != nil {
		return err
	}
	defer g.Close()
	return f(g)
}
