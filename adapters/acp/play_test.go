package acp

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// player runs the scripts of the public bug log against a bench. A script is the
// agent's side: "<" it writes a line, "?" it waits for a message of the host, "2"
// it writes to standard error, "~" time passes (testdata/bugs).
type player struct {
	*bench
	auto bool // "@acp": the handshake is answered by itself
	seen int  // messages already matched or answered
	vars map[string]string
	part []byte // of a line
	// act makes the host do what a script waits for; by default prompts, aborts
	// (twice, as people do) and allows.
	act func(p *player, conds map[string]string) bool
}

func play(t *testing.T, file string, spec AgentSpec, o adapters.Options, act func(*player, map[string]string) bool) *player {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "bugs", file))
	if err != nil {
		t.Fatal(err)
	}
	p := &player{bench: newBench(t, spec, o), vars: map[string]string{}, act: act}
	p.auto = bytes.Contains(script, []byte("\n@acp"))
	p.submit(adapters.Open{ID: "open"})
	for line := range strings.SplitSeq(string(script), "\n") {
		p.step(line)
		p.handshake()
	}
	return p
}

func (p *player) step(line string) {
	p.t.Helper()
	cmd, arg, _ := strings.Cut(line, " ")
	switch cmd {
	case "<":
		p.out([]byte(p.fill(arg) + "\n"))
	case "<<":
		p.out([]byte(p.fill(arg)))
	case "<x":
		b, err := hex.DecodeString(strings.TrimSpace(arg))
		if err != nil {
			p.t.Fatal(err)
		}
		p.out(b)
	case "2":
		step, _ := p.p.Receive(p.now, adapters.Frame{Source: adapters.Stderr, Data: []byte(arg)})
		p.apply(step)
	case "~":
		ms, _ := strconv.Atoi(arg)
		p.advance(time.Duration(ms) * time.Millisecond)
	case "?":
		p.expect(arg)
	}
}

// out writes bytes of the agent; the host's reader cuts them into lines.
func (p *player) out(data []byte) {
	p.t.Helper()
	p.part = append(p.part, data...)
	for {
		line, rest, ok := bytes.Cut(p.part, []byte("\n"))
		if !ok {
			return
		}
		p.part = bytes.Clone(rest)
		p.line(string(line))
	}
}

var variable = regexp.MustCompile(`\$\{(\w+)\.id\}`)

func (p *player) fill(s string) string {
	return variable.ReplaceAllStringFunc(s, func(m string) string { return p.vars[variable.FindStringSubmatch(m)[1]] })
}

// handshake answers as play.py's @acp does.
func (p *player) handshake() {
	p.t.Helper()
	for p.auto && p.seen < len(p.written) {
		m := p.written[p.seen]
		switch m.Method {
		case "initialize":
			p.seen++
			p.result(m, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[]}`)
		case "session/new":
			p.seen++
			p.result(m, `{"sessionId":"sess-1"}`)
		case "session/set_mode", "session/set_model", "authenticate":
			p.seen++
			p.result(m, `{}`)
		default:
			return
		}
	}
}

// expect waits for a message of the host that meets all conditions.
func (p *player) expect(arg string) {
	p.t.Helper()
	arg, _, _ = strings.Cut(arg, " within ")
	arg, name, _ := strings.Cut(arg, " as ")
	conds := map[string]string{}
	for c := range strings.FieldsSeq(arg) {
		k, v, _ := strings.Cut(c, "=")
		conds[k] = v
	}
	for range 5 {
		p.handshake()
		for i := p.seen; i < len(p.written); i++ {
			if meets(p.written[i], conds) {
				p.seen = i + 1
				p.vars[name] = string(p.written[i].ID)
				return
			}
		}
		act := p.act
		if act == nil || !act(p, conds) {
			p.obey(conds)
		}
	}
	p.t.Fatalf("%v %v: the host never sent %q; story: %s", p.errs, p.done, arg, p.story())
}

// obey is what a willing person does.
func (p *player) obey(conds map[string]string) {
	p.t.Helper()
	switch {
	case conds["method"] == "session/prompt" && p.opened():
		p.prompt()
	case conds["method"] == "session/cancel":
		p.submit(adapters.Abort{})
		p.submit(adapters.Abort{})
	case conds["id"] != "" && len(p.asks) > 0:
		p.answer(contract.AllowOnce)
	}
}

func meets(m jsonrpc.Message, conds map[string]string) bool {
	for k, want := range conds {
		var got string
		switch {
		case k == "method":
			got = m.Method
		case k == "id":
			got = strings.Trim(string(m.ID), `"`)
		default:
			v := m.Params
			for _, part := range strings.Split(strings.TrimPrefix(k, "params."), ".") {
				if n, err := strconv.Atoi(part); err == nil {
					i := 0
					var found rawjson.Value
					for e := range v.Elements() {
						if i == n {
							found = e
						}
						i++
					}
					v = found
					continue
				}
				v = v.Get(part)
			}
			got = strings.Trim(string(v), `"`)
		}
		if got != want {
			return false
		}
	}
	return true
}

var fake = AgentSpec{Name: "fake", Title: "Fake"}

func TestBugs(t *testing.T) {
	for file, want := range map[string]string{
		// Log lines and banners on standard output are no agent text.
		"B005-acpnoise.txt":  "turn-start p1 | text Hello world | turn-end completed",
		"B007-npxbanner.txt": "turn-start p1 | text ok | turn-end completed",
		// A permission for a call that was never announced makes its start.
		"B041-permnotool.txt": `turn-start p1 | start t1 bash {"command":"rm -rf build"} | ask t1 | end t1 completed | text done | turn-end completed`,
		// Pressing stop twice sends one cancel; the next turn is not poisoned.
		"B051-doublecancel.txt": "turn-start p1 | text thinking... | turn-end cancelled | turn-start p2 | text second turn ok | turn-end completed",
		// The last chunk and the answer in one write keep their order.
		"B067-samewrite.txt": "turn-start p1 | text the only text | turn-end completed",
		"B069-justafter.txt": "turn-start p1 | text ok | turn-end completed",
		// One start and one end for a call, whatever updates come.
		"B086-acptool.txt": `turn-start p1 | start t1 bash {"command":"x"} | end t1 completed | start t2 bash {"command":"x"} | end t2 completed | ` +
			`start t3 other {} | end t3 completed | turn-end completed`,
		// A second answer to a cancelled prompt does not end the next turn.
		"B109-twostops.txt": "turn-start p1 | text one | turn-end cancelled | turn-start p2 | text two | turn-end completed",
		"B113-busy.txt":     "turn-start p1 | text first | turn-end completed | turn-start p2 | text second | turn-end completed",
		"B205-ids.txt": `turn-start p1 | start t1 bash {"command":"rm -rf build"} | ask t1 | start t2 bash {"command":"rm -rf build"} | ask t2 | ` +
			`start t3 bash {"command":"rm -rf build"} | ask t3 | start t4 bash {"command":"rm -rf build"} | ask t4 | text ids ok | ` +
			`end t1 | end t2 | end t3 | end t4 | turn-end completed`,
		"B207-strict.txt": "turn-start p1 | text valid client | turn-end completed",
		// Terminals are offered to nobody by default.
		"B202-termlimit.txt": "turn-start p1 | turn-end completed",
	} {
		t.Run(strings.TrimSuffix(file, ".txt"), func(t *testing.T) {
			p := play(t, file, fake, adapters.Options{}, nil)
			p.want(want)
			if n := p.count("session/cancel"); strings.Contains(want, "cancelled") && n != 1 {
				t.Errorf("%d session/cancel, want 1", n)
			}
			p.exit(adapters.ExitStatus{Requested: true})
		})
	}
}
