package main

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/childenv"
	"github.com/agenthost/agenthost/internal/proc"
)

// agentInfo is one line of `agenthost agents`.
type agentInfo struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Installed bool     `json:"installed"`
	Path      string   `json:"path,omitzero"`
	Version   string   `json:"version,omitzero"`
	Tested    []string `json:"tested,omitempty"`
	// Why says why an agent counts as not installed.
	Why     string `json:"why,omitzero"`
	Install string `json:"install,omitzero"`
	Login   string `json:"login,omitzero"`
	// LoginState is found, none or unknown; Credentials is the place that was found.
	LoginState   loginState       `json:"loginState"`
	Credentials  string           `json:"credentials,omitzero"`
	Capabilities []capabilityInfo `json:"capabilities"`
}

type capabilityInfo struct {
	Name      session.Capability `json:"name"`
	Supported bool               `json:"supported"`
	Reason    string             `json:"reason,omitzero"`
}

// loginState says whether an agent's login is where it keeps one.
type loginState string

const (
	loginFound   loginState = "found"
	loginNone    loginState = "none"    // seen; it may be in a keychain
	loginUnknown loginState = "unknown" // where to look
)

func newAgents(st *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the known agents, whether they are installed, and what they can do",
		Long: `Lists every agent that "agenthost run" knows: whether its command is on PATH,
its version, where its login was seen, and its capabilities. --json adds how to
log in and the reason for each capability that an agent lacks. The config file can
add agents (agents.custom).`,
		Example: `  agenthost agents
  agenthost agents --json | jq '.[] | select(.installed)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			infos := probeAll(cmd.Context(), agentSet(cfg))
			if asJSON {
				return printJSON(st.out, infos)
			}
			return printAgents(st, infos)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	out, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", out)
	return err
}

func printAgents(st *streams, infos []agentInfo) error {
	tw := tabwriter.NewWriter(st.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "AGENT\tVERSION\tLOGIN\tCAPABILITIES\tPATH, OR HOW TO INSTALL IT")
	for _, a := range infos {
		version, path := a.Version, a.Path
		switch {
		case !a.Installed:
			version, path = "not installed", a.Install
		case version == "":
			version = "unknown"
		}
		var caps []string
		for _, c := range a.Capabilities {
			if c.Supported {
				caps = append(caps, string(c.Name))
			}
		}
		login := cmp.Or(a.Credentials, string(a.LoginState))
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", a.Name, version, login, strings.Join(caps, " "), path)
	}
	return tw.Flush()
}

// probeAll looks at every agent, several at a time: some take a second to say
// their version.
func probeAll(ctx context.Context, set adapters.Set) []agentInfo {
	names := set.Names()
	infos := make([]agentInfo, len(names))
	limit := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			a, _ := set.Get(name)
			infos[i] = probe(ctx, a)
		})
	}
	wg.Wait()
	return infos
}

func probe(ctx context.Context, a adapters.Adapter) agentInfo {
	d := a.Describe()
	info := agentInfo{Name: a.Name(), Title: d.Title, Tested: d.Tested, Install: d.Install, Login: d.Login}
	for _, c := range d.Claims {
		if c.Capability == session.CapQueue && !c.Supported {
			c.Supported, c.Reason = true, "the host queues for every agent"
		}
		info.Capabilities = append(info.Capabilities, capabilityInfo{c.Capability, c.Supported, c.Reason})
	}
	info.LoginState, info.Credentials = loginOf(d.Credentials)
	if len(d.Command) == 0 {
		info.Why = "its command is given behind --"
		return info
	}
	path, err := proc.Resolve(d.Command[0], os.Getenv("PATH"))
	if err != nil {
		info.Why = err.Error()
		return info
	}
	info.Installed, info.Path = true, path
	info.Version = versionOf(ctx, host.Program(a, path, proc.Resolve), d.VersionArgs)
	return info
}

// loginOf looks for a login in the places that an agent has for one.
func loginOf(places []string) (loginState, string) {
	if places == nil {
		return loginUnknown, ""
	}
	home, _ := os.UserHomeDir() // without one there is no file in it
	for _, place := range places {
		dir, file, ok := strings.Cut(place, "/")
		value := home
		if name := strings.TrimPrefix(dir, "$"); dir != "~" {
			value = os.Getenv(name)
		}
		if value == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(value, file)); !ok || err == nil {
			return loginFound, place
		}
	}
	return loginNone, ""
}

// versionTimeout is how long an agent may take to say its version.
const versionTimeout = 10 * time.Second

// versionOf asks a command for its version: the first line it prints that has a
// digit, empty when there is none. The command gets the environment that agents
// get, and nothing of it is left.
func versionOf(ctx context.Context, path string, args []string) string {
	if args == nil {
		return ""
	}
	env, err := childenv.Build(childenv.Request{Host: environ()})
	if err != nil {
		return ""
	}
	search, _ := childenv.Get(env, "PATH")
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	child, err := proc.Start(ctx, proc.Spec{
		Argv: append([]string{path}, args...), Env: childenv.With(env, "PATH", proc.PathWith(path, search)),
		NoInput: true, Supervise: true,
	})
	if err != nil {
		return ""
	}
	stop := context.AfterFunc(ctx, child.Kill)
	defer stop()
	version := ""
	for l := range child.Lines() {
		if line := strings.TrimSpace(string(l.Data)); version == "" && l.Source == proc.Stdout && strings.ContainsAny(line, "0123456789") {
			version = present.Line(line)
		}
	}
	<-child.Done()
	if !child.Exit().Success() {
		return ""
	}
	return version
}
