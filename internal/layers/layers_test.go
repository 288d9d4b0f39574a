package layers

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agenthost/agenthost/"

// allowed says which packages of the project a package may import, and why. A
// package that is not listed may import none of the others.
var allowed = map[string][]string{
	"contract":         {},
	"contract/session": {},
	"contract/fold":    {"contract", "contract/session"},
	"adapters":         {"contract", "contract/session"},
	"host/stamp":       {"contract", "adapters", "adapters/present"}, // drafts become envelopes here
	"host/screen":      {"adapters", "internal/vt"},                  // a screen as text is a frame's; a terminal is any Source
	"internal/vt":      {},
	"internal/console": {"internal/vt", "internal/nonblock"}, // whose screen it shows is a Terminal's to know
	// It plays the host's part, with the host's own stamper, and names no agent:
	// a Wire knows what other clients and agents say to each other.
	"adapters/replay": {
		"contract", "contract/session", "adapters", "adapters/transcript", "host/stamp", "internal/jsonrpc", "internal/rawjson",
	},
	"journal":           {"contract", "internal/filelock", "internal/syncdir"},
	"permission":        {"contract"},
	"internal/terminal": {"internal/proc", "internal/childenv"}, // commands get the agent's environment
	"config":            {"internal/redact", "internal/slip"},   // what is shown has no secrets; a wrong key suggests the near one
	"internal/proc":     {"internal/nonblock"},
	"internal/nonblock": {},
	"relay/wire":        {"contract", "contract/session"},
	"relay/peer":        {"relay/wire", "internal/jsonrpc", "internal/rawjson"},                                                       // a connection knows no session
	"relay/store":       {"relay/wire", "internal/filelock"},                                                                          // envelopes are bytes to it
	"relay/gateway":     {"contract", "contract/session", "contract/session/fold", "relay/wire", "relay/peer", "internal/sessionref"}, // whose sessions they are is a Backend's to know
	"relay/server":      {"relay/wire", "relay/peer", "relay/gateway", "relay/store", "internal/sessionref"},
	"relay/uplink":      {"contract", "relay/wire", "relay/peer", "relay/gateway"}, // the daemon is a Source to it
	"internal/jsonrpc":  {"internal/rawjson"},
	"internal/filelock": {},
	"internal/syncdir":  {},
}

// forbidden says what must not appear below a package, and why.
var forbidden = []struct{ pkg, dep, why string }{
	{"adapters", "os/exec", "a Protocol starts no process: the host does"},
	{"adapters", "net", "a Protocol does no I/O"},
	{"adapters", "math/rand", "equal calls must give equal Steps"},
	{"adapters", "crypto/rand", "equal calls must give equal Steps"},
	{"adapters", module + "host", "the host knows the adapters' seam, never the other way"},
	{"adapters", module + "journal", "a Protocol stores nothing"},
	{"adapters", module + "internal/proc", "a Protocol starts no process"},
	{"host", module + "adapters/acp", "the host names no agent"},
	{"host", module + "adapters/gemini", "the host names no agent"},
	{"host", module + "adapters/claude", "the host names no agent"},
	{"host", module + "adapters/codex", "the host names no agent"},
	{"host", "github.com/spf13/viper", "configuration arrives as values"},
	{"host", "github.com/spf13/cobra", "flags arrive as values"},
	{"contract", module + "adapters", "the contract knows no agent"},
	{"permission", module + "host", "the mediator serves any host"},
	{"journal", module + "host", "the journal serves any host"},
	{"cmd/agenthost", "github.com/nats-io/nats-server/v2/server", "its start would take twice as long: the relay is a program of its own"},
	{"cmd/agenthost", "github.com/prometheus/client_golang/prometheus", "its start would take longer: the relay is a program of its own"},
	{"relay", module + "host", "a relay serves any host"},
	{"client", module + "host", "a client is any program"},
}

// only says which packages alone may import a module, and why.
var only = []struct{ dep, pkg, why string }{
	{"github.com/spf13/viper", "config", "viper has traps that one package knows"},
	{"github.com/creack/pty", "internal/proc", "its master blocks unless it is made over"},
	{"github.com/spf13/cobra", "cmd", "flags are the commands'"},
	// An agent's own server speaks its own protocol over it, without any of that.
	{"github.com/coder/websocket", "relay/peer internal/sidesocket", "frames, chunks and liveness are in one place"},
	{"github.com/nats-io/nats.go/jetstream", "relay/store", "how things are stored is in one place"},
	{"mvdan.cc/sh/v3/syntax", "permission", "shell parsing serves the policy"},
}

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []pkg
	for dec := jsontext.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := json.UnmarshalDecode(dec, &p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// within reports whether a package is p or lies below it. Test support lies
// outside of the layers.
func within(path, p string) bool {
	rel := strings.TrimPrefix(path, module)
	if strings.Contains(rel, "test") || strings.HasPrefix(rel, "contract/schema/") {
		return false
	}
	return rel == p || strings.HasPrefix(rel, p+"/")
}

func TestAllowed(t *testing.T) {
	for _, p := range list(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		want, listed := allowed[rel]
		if !listed {
			continue
		}
		for _, imp := range p.Imports {
			in, ours := strings.CutPrefix(imp, module)
			if ours && !slices.Contains(want, in) && !strings.HasPrefix(in, rel+"/") {
				t.Errorf("%s imports %s: want only %q", rel, in, want)
			}
		}
	}
}

func TestForbidden(t *testing.T) {
	for _, p := range list(t) {
		for _, f := range forbidden {
			if !within(p.ImportPath, f.pkg) || p.ImportPath == f.dep {
				continue
			}
			// What a dependency of ours uses inside (net below a JSON Schema
			// library, say) is not what this package does: look at our own imports.
			if slices.Contains(p.Imports, f.dep) {
				t.Errorf("%s imports %s: %s", p.ImportPath, f.dep, f.why)
			}
		}
	}
}

func TestOnly(t *testing.T) {
	for _, p := range list(t) {
		for _, o := range only {
			in := func(pkg string) bool { return within(p.ImportPath, pkg) }
			if slices.Contains(p.Imports, o.dep) && !slices.ContainsFunc(strings.Fields(o.pkg), in) {
				t.Errorf("%s imports %s, which only %s may: %s", p.ImportPath, o.dep, o.pkg, o.why)
			}
		}
	}
}

// TestNoGoroutines: an adapter is a state machine, so that the race detector has nothing to
// look for in it, and is not run on it.
func TestNoGoroutines(t *testing.T) {
	files := 0
	for _, p := range list(t) {
		if !within(p.ImportPath, "adapters") {
			continue
		}
		for _, name := range p.GoFiles {
			files++
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for n := range ast.Preorder(f) {
				if g, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%v: an adapter begins a goroutine: what goes on beside it is the host's", set.Position(g.Pos()))
				}
			}
		}
	}
	if files == 0 {
		t.Error("no file of an adapter was found")
	}
}

// TestProduct: what is there for tests stays out of the binary, however far down.
func TestProduct(t *testing.T) {
	found := false
	for _, p := range list(t) {
		if p.ImportPath != module+"cmd/agenthost" {
			continue
		}
		found = true
		for _, dep := range []string{"testing", module + "adapters/adaptertest"} {
			if slices.Contains(p.Deps, dep) {
				t.Errorf("cmd/agenthost is built with %s, which is for tests", dep)
			}
		}
	}
	if !found {
		t.Error("cmd/agenthost is not among the packages")
	}
}
