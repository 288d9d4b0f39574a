package e2e

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// playEnv makes this test binary a fake agent that plays the named script:
//
//	< TEXT      write a line          << TEXT     write without the line end
//	<x HEX      write bytes           <rep N TEXT write TEXT N times
//	<all N TEXT write TEXT as N lines in one write, {n} counted from 0, ⏎ a line end
//	2 TEXT      write on stderr       ~ MS        wait
//	? PATH=JSON … [as NAME] [within MS]           wait for a line of the host that matches
//	! exit N | kill9 | closeout | hold (until stdin ends) | forever
//	@acp | @claude [init]                         answer the handshake by itself
//
// ${NAME.id} is the id of a matched line. A line that does not come within its
// time (20 s) ends the fake with code 97.
const playEnv = "E2E_PLAY"

// player is the fake agent.
type player struct {
	out    *os.File
	script []string
	mode   []string
	vars   map[string]string
	lines  chan map[string]any // of the host; closed when stdin ends
	queue  []map[string]any    // came and nobody waited for it
	begun  bool                // claude: the first user message came
	opened int                 // acp: sessions
}

// play plays the script and never returns.
func play(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	p := &player{out: os.Stdout, script: strings.Split(string(data), "\n"), vars: map[string]string{}, lines: make(chan map[string]any)}
	for _, l := range p.script {
		if m, ok := strings.CutPrefix(l, "@"); ok {
			p.mode = strings.Fields(m)
		}
	}
	go p.read(os.Stdin)
	for _, l := range p.script {
		if l != "" && l[0] != '#' && l[0] != '@' {
			p.step(l)
		}
	}
	os.Exit(0)
}

func (p *player) read(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		var m map[string]any
		if json.Unmarshal(line, &m, json.WithUnmarshalers(numbers())) == nil && !p.answer(m) {
			p.lines <- m
		}
		if err != nil {
			close(p.lines)
			return
		}
	}
}

// numbers keeps numbers as they are written: ids can be larger than a float64.
func numbers() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
		if dec.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		raw, err := dec.ReadValue()
		*v = jsontext.Value(bytes.Clone(raw))
		return err
	})
}

// answer gives the answers of the handshake and reports whether m was one.
func (p *player) answer(m map[string]any) bool {
	if len(p.mode) == 0 {
		return false
	}
	method, _ := m["method"].(string)
	id := literal(m["id"])
	switch {
	case p.mode[0] == "acp":
		switch method {
		case "initialize":
			p.writef(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[]}}`+"\n", id)
		case "session/new":
			p.opened++
			p.writef(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"sess-%d"}}`+"\n", id, p.opened)
		case "authenticate", "session/set_mode", "session/set_model":
			p.writef(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		default:
			return false
		}
		return true
	case p.mode[0] == "claude" && m["type"] == "control_request":
		sub, _ := lookup(m, "request.subtype")
		if name, ok := sub.(string); ok && slices.Contains([]string{"initialize", "set_permission_mode", "set_model", "set_max_thinking_tokens"}, name) {
			p.writef(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":{"commands":[],"models":[]}}}`+"\n", literal(m["request_id"]))
			return true
		}
	case p.mode[0] == "claude" && m["type"] == "user" && slices.Contains(p.mode, "init") && !p.begun:
		p.begun = true
		p.writef(`{"type":"system","subtype":"init","cwd":"/w","session_id":"00000000-0000-4000-8000-000000000001","tools":["Bash"],"mcp_servers":[],"model":"fake-model-1","permissionMode":"default","slash_commands":[],"apiKeySource":"none","uuid":"00000000-0000-4000-8000-0000000000a0"}` + "\n")
	}
	return false
}

func (p *player) writef(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// step plays one line.
func (p *player) step(l string) {
	verb, arg, _ := strings.Cut(l, " ")
	switch verb {
	case "<":
		p.writef("%s\n", p.fill(arg))
	case "<<":
		p.writef("%s", p.fill(arg))
	case "<x":
		b, _ := hex.DecodeString(strings.TrimSpace(arg))
		p.out.Write(b)
	case "<rep":
		n, text, _ := strings.Cut(arg, " ")
		count, _ := strconv.Atoi(n)
		p.out.WriteString(strings.Repeat(text, count))
	case "<all":
		n, text, _ := strings.Cut(arg, " ")
		count, _ := strconv.Atoi(n)
		text = strings.ReplaceAll(p.fill(text), "⏎", "\n") + "\n"
		var b strings.Builder
		for i := range count {
			b.WriteString(strings.ReplaceAll(text, "{n}", fmt.Sprintf("%06d", i)))
		}
		p.out.WriteString(b.String())
	case "2":
		fmt.Fprintln(os.Stderr, arg)
	case "~":
		ms, _ := strconv.Atoi(arg)
		time.Sleep(time.Duration(ms) * time.Millisecond) // the script's own pace
	case "?":
		p.await(arg)
	case "!":
		p.act(strings.Fields(arg))
	}
}

func (p *player) act(words []string) {
	switch words[0] {
	case "exit":
		code, _ := strconv.Atoi(words[1])
		os.Exit(code)
	case "kill9":
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		select {}
	case "closeout":
		p.out.Close()
	case "hold":
		for range p.lines {
		}
	case "forever":
		select {}
	}
}

var (
	within = regexp.MustCompile(` within (\d+)`)
	named  = regexp.MustCompile(` as (\w+)$`)
)

// await waits for a line of the host that meets the conditions.
func (p *player) await(arg string) {
	limit, name := 20*time.Second, ""
	if m := within.FindStringSubmatch(arg); m != nil {
		ms, _ := strconv.Atoi(m[1])
		limit, arg = time.Duration(ms)*time.Millisecond, strings.Replace(arg, m[0], "", 1)
	}
	if m := named.FindStringSubmatch(arg); m != nil {
		name, arg = m[1], strings.TrimSuffix(arg, m[0])
	}
	timeout := time.After(limit)
	for {
		for i, m := range p.queue {
			if matches(m, strings.Fields(arg)) {
				p.queue = slices.Delete(p.queue, i, i+1)
				p.vars[name] = literal(m["id"])
				if m["id"] == nil {
					p.vars[name] = literal(m["request_id"])
				}
				return
			}
		}
		select {
		case m, ok := <-p.lines:
			if ok {
				p.queue = append(p.queue, m)
				continue
			}
		case <-timeout:
		}
		fmt.Fprintln(os.Stderr, "PLAY-TIMEOUT", arg)
		os.Exit(97)
	}
}

func matches(m map[string]any, conditions []string) bool {
	for _, c := range conditions {
		path, want, _ := strings.Cut(c, "=")
		got, ok := lookup(m, path)
		var value any // a blank in a condition is written as \u0020
		if json.Unmarshal([]byte(want), &value, json.WithUnmarshalers(numbers())) == nil {
			want = literal(value)
		}
		if !ok || (literal(got) != want && got != want) {
			return false
		}
	}
	return true
}

func lookup(v any, path string) (any, bool) {
	for key := range strings.SplitSeq(path, ".") {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// literal is v as JSON.
func literal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

var reference = regexp.MustCompile(`\$\{(\w+)\.id\}`)

func (p *player) fill(text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		if v, ok := p.vars[reference.FindStringSubmatch(ref)[1]]; ok {
			return v
		}
		return "null"
	})
}
