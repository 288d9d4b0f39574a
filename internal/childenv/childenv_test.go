package childenv

import (
	"slices"
	"strings"
	"testing"
)

// noProxy is what every environment gets.
var noProxy = []string{"NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1"}

func TestBuild(t *testing.T) {
	for _, test := range []struct {
		name    string
		request Request
		want    []string // beside noProxy unless it holds NO_PROXY
	}{
		{
			name:    "nothing",
			request: Request{},
		},
		{
			name: "allow-list",
			request: Request{Host: []string{
				"HOME=/home/u", "PATH=/bin", "LANG=C.UTF-8", "LC_ALL=C", "TERM=xterm", "SHELL=/bin/sh", "TMPDIR=/t", "TMP=/t", "TEMP=/t",
				"USER=u", "LOGNAME=u", "XDG_CONFIG_HOME=/c", "XDG_RUNTIME_DIR=/r", "TZ=UTC", "SSL_CERT_FILE=/ca", "SSL_CERT_DIR=/cas",
				"NODE_EXTRA_CA_CERTS=/ca",
			}},
			want: []string{
				"HOME=/home/u", "LANG=C.UTF-8", "LC_ALL=C", "LOGNAME=u", "NODE_EXTRA_CA_CERTS=/ca", "PATH=/bin", "SHELL=/bin/sh",
				"SSL_CERT_DIR=/cas", "SSL_CERT_FILE=/ca", "TEMP=/t", "TERM=xterm", "TMP=/t", "TMPDIR=/t", "TZ=UTC", "USER=u",
				"XDG_CONFIG_HOME=/c", "XDG_RUNTIME_DIR=/r",
			},
		},
		{
			name: "secrets and strangers stay out",
			request: Request{Host: []string{
				"AWS_SECRET_ACCESS_KEY=s", "GITHUB_TOKEN=s", "SSH_AUTH_SOCK=/s", "LD_PRELOAD=/x.so", "NODE_OPTIONS=--inspect", "PWD=/host",
				"AGENTHOST_TOKEN=s", "HOMEBREW_X=1", "PATHOLOGY=1", "GEMINI_API_KEY=s",
			}},
		},
		{
			name:    "adapter and user globs",
			request: Request{Host: []string{"GEMINI_API_KEY=k", "GOOGLE_CLOUD_PROJECT=p", "GOPATH=/g", "MY_1=1", "MY_X=x"}, Pass: []string{"GEMINI_*", "GOOGLE_*", "MY_[0-9]"}},
			want:    []string{"GEMINI_API_KEY=k", "GOOGLE_CLOUD_PROJECT=p", "MY_1=1"},
		},
		{
			name: "marks of sessions never pass a pattern",
			request: Request{
				Host: []string{
					"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=s", "CLAUDE_CODE_SSE_PORT=1", "CODEX_SANDBOX=seatbelt",
					"CODEX_SANDBOX_NETWORK_DISABLED=1", "CODEX_THREAD_ID=t", "CODEX_CI=1", "GEMINI_CLI=1", "QWEN_CODE=1", "OPENCODE=1", "OPENCODE_PID=1",
					"AGENT=1", "AI_AGENT=x", "CURSOR_AGENT=1", "COPILOT_CLI=1", "AGENTHOST_CHILD=a", "AGENTHOST_SHIM=1",
					"CLAUDE_CODE_MAX_RETRIES=3", "ANTHROPIC_API_KEY=k", "GEMINI_CLI_NO_RELAUNCH=1", "OPENCODE_CONFIG=/o", "CODEX_HOME=/c",
				},
				Pass: []string{"*"},
			},
			want: []string{"ANTHROPIC_API_KEY=k", "CLAUDE_CODE_MAX_RETRIES=3", "CODEX_HOME=/c", "GEMINI_CLI_NO_RELAUNCH=1", "OPENCODE_CONFIG=/o"},
		},
		{
			name:    "a mark passes by its exact name",
			request: Request{Host: []string{"CLAUDECODE=1", "GEMINI_CLI=1"}, Pass: []string{"CLAUDECODE", "GEMINI_*"}},
			want:    []string{"CLAUDECODE=1"},
		},
		{
			name:    "set wins, the last wins, and takes away",
			request: Request{Host: []string{"HOME=/h", "PATH=/p", "TZ=UTC"}, Set: []string{"HOME=/a", "HOME=/b", "PATH", "NEW=a=b", "EMPTY=", "CLAUDECODE=1"}},
			want:    []string{"CLAUDECODE=1", "EMPTY=", "HOME=/b", "NEW=a=b", "TZ=UTC"},
		},
		{
			name:    "the last of the host's wins, odd entries are skipped",
			request: Request{Host: []string{"HOME=/a", "HOME=/b", "=C:=C:\\dir", "PATH"}},
			want:    []string{"HOME=/b"},
		},
		{
			name: "proxies of both spellings, loopback merged into both",
			request: Request{Host: []string{
				"HTTP_PROXY=http://p:1", "https_proxy=http://p:2", "ALL_PROXY=socks5://p", "NO_PROXY=corp.example, localhost", "no_proxy=.lan",
			}},
			want: []string{
				"ALL_PROXY=socks5://p", "HTTP_PROXY=http://p:1", "NO_PROXY=corp.example,localhost,.lan,127.0.0.1,::1", "https_proxy=http://p:2",
				"no_proxy=corp.example,localhost,.lan,127.0.0.1,::1",
			},
		},
		{
			name:    "everything is exempt already",
			request: Request{Host: []string{"no_proxy=*"}},
			want:    []string{"NO_PROXY=*", "no_proxy=*"},
		},
		{
			name:    "a proxy that the user sets",
			request: Request{Set: []string{"HTTPS_PROXY=http://p", "NO_PROXY=a"}},
			want:    []string{"HTTPS_PROXY=http://p", "NO_PROXY=a,127.0.0.1,localhost,::1", "no_proxy=a,127.0.0.1,localhost,::1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Build(test.request)
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if !strings.Contains(strings.Join(want, "\n"), "NO_PROXY=") {
				want = append(slices.Clone(want), noProxy...)
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("Build = %q\nwant    %q", got, want)
			}
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		request Request
		want    string
	}{
		{"bad glob", Request{Pass: []string{"A_*", "B["}}, `"B["`},
		{"no name", Request{Set: []string{"=x"}}, `"=x"`},
		{"empty entry", Request{Set: []string{""}}, `""`},
		{"NUL", Request{Set: []string{"A=b\x00c"}}, `\x00`},
	} {
		env, err := Build(test.request)
		if err == nil || env != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Build = %q, %v; want an error that quotes %s", test.name, env, err, test.want)
		}
	}
}

func TestBuildLeavesArguments(t *testing.T) {
	host := []string{"PATH=/a", "HOME=/h"}
	set := []string{"PATH=/b"}
	if _, err := Build(Request{Host: host, Set: set}); err != nil {
		t.Fatal(err)
	}
	if host[0] != "PATH=/a" || host[1] != "HOME=/h" || set[0] != "PATH=/b" {
		t.Errorf("Build changed its arguments: %q, %q", host, set)
	}
}

func TestGetWith(t *testing.T) {
	env := []string{"PATH=/a", "A=1", "PATH=/b", "E="}
	for _, test := range []struct {
		name, want string
		found      bool
	}{{"PATH", "/b", true}, {"A", "1", true}, {"E", "", true}, {"B", "", false}, {"", "", false}} {
		if got, found := Get(env, test.name); got != test.want || found != test.found {
			t.Errorf("Get(%q) = %q, %v, want %q, %v", test.name, got, found, test.want, test.found)
		}
	}
	changed := With(env, "PATH", "/c")
	if want := []string{"A=1", "E=", "PATH=/c"}; !slices.Equal(changed, want) {
		t.Errorf("With = %q, want %q", changed, want)
	}
	if env[0] != "PATH=/a" || len(env) != 4 {
		t.Errorf("With changed its argument: %q", env)
	}
}

// FuzzBuild holds Build to its promises whatever the host's environment is.
func FuzzBuild(f *testing.F) {
	f.Add("HOME=/h\nCLAUDECODE=1\nNO_PROXY=a,b", "X_*", "A=1")
	f.Add("=\n==\nno_proxy=,,", "*", "B")
	f.Add("\nno_Proxy=,", "*", "B")
	f.Fuzz(func(t *testing.T, host, pass, set string) {
		env, err := Build(Request{Host: strings.Split(host, "\n"), Pass: []string{pass}, Set: []string{set}})
		if err != nil {
			if env != nil {
				t.Errorf("Build returned an error and %q", env)
			}
			return
		}
		seen := make(map[string]bool)
		for _, entry := range env {
			name, value, ok := strings.Cut(entry, "=")
			if !ok || name == "" || seen[name] {
				t.Errorf("entry %q is malformed or repeated", entry)
			}
			seen[name] = true
			setName, _, _ := strings.Cut(set, "=")
			if Mark(name) && name != setName && name != pass {
				t.Errorf("mark %q got through", entry)
			}
			// Programs read these two spellings; another is a variable like any.
			if (name == "NO_PROXY" || name == "no_proxy") && value != "" {
				hosts := strings.Split(value, ",")
				if !slices.Contains(hosts, "*") && !slices.Contains(hosts, "127.0.0.1") {
					t.Errorf("%q doesn't exempt loopback", entry)
				}
			}
		}
		if !slices.IsSorted(env) {
			t.Errorf("%q isn't sorted", env)
		}
	})
}
