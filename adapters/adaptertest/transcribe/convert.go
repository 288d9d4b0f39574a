package main

import (
	"bufio"
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// converter makes transcripts of one recording.
type converter struct {
	agent, version string
	cut            int

	files []*transcript.File
	conns map[string]*transcript.File // by connection, for recordings of several
	cur   *transcript.File
	start int64 // time of the current transcript's t = 0
	last  int64
}

// convert takes a recording's lines. A line that is no JSON becomes a note.
func (c *converter) convert(data []byte) []transcript.File {
	lines := bufio.NewReader(bytes.NewReader(data))
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.line(line)
		}
		if err == io.EOF {
			break
		}
	}
	var out []transcript.File
	for _, f := range c.files {
		if len(f.Records) > 0 {
			out = append(out, *f)
		}
	}
	return out
}

func (c *converter) line(line []byte) {
	v, err := rawjson.Parse(line)
	if err != nil || v.Kind() != rawjson.Object {
		c.add(transcript.Note, line)
		return
	}
	dir := v.Get("dir").Text() + v.Get("d").Text()
	if t, ok := v.Get("t").Int(); ok {
		c.last = t
	}
	name, conn, _ := strings.Cut(strings.TrimSuffix(dir, ")"), "(")
	switch name {
	case "meta":
		c.begin(v)
	case "#":
		c.driver(v)
	case "<", "out", "srv->cli", "pty-out":
		if name == "pty-out" || v.Get("raw").Given() && c.tty() {
			c.add(transcript.Term, payload(v))
			return
		}
		c.to(conn, transcript.Out, payload(v))
	case ">", "cli->srv", "pty-in":
		c.to(conn, transcript.In, payload(v))
	case "2", "err":
		c.add(transcript.Err, payload(v))
	case "J":
		c.add(transcript.Log, payload(v))
	case "H":
		c.add(transcript.Hook, payload(v))
	case "exit":
		c.exit(v)
	case "":
		c.add(transcript.Log, line) // a file that the agent wrote
	default: // mark, keys, type, screen, S
		c.add(transcript.Note, line)
	}
}

// payload is the message of a line, as the bytes that went over the wire.
func payload(v rawjson.Value) []byte {
	for _, name := range []string{"line", "raw", "data", "stdout"} {
		if s := v.Get(name); s.Kind() == rawjson.String {
			return []byte(s.Text())
		}
	}
	for _, name := range []string{"msg", "m"} {
		if m := v.Get(name); m.Given() {
			return compact(m)
		}
	}
	return nil
}

// compact takes out the white space that the recorder put in.
func compact(m rawjson.Value) []byte {
	v := jsontext.Value(m.Clean())
	if err := v.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
		return m
	}
	return v
}

// driver is what the recording program says about itself.
func (c *converter) driver(v rawjson.Value) {
	m := v.Get("msg")
	if !m.Given() {
		m = v.Get("m")
	}
	if !m.Given() {
		m = v
	}
	switch {
	case m.Get("cmd").Given() || m.Get("argv").Given():
		c.begin(m)
	case m.Get("eof").Given() || m.Get("stdin_closed").Given():
		c.add(transcript.Note, []byte("stdin closed"))
	case m.Get("stdin_closed_then_exit").Kind() != rawjson.Absent:
		c.exitCode(m.Get("stdin_closed_then_exit"))
	case m.Get("exit").Given(), m.Get("rc").Given(), m.Get("returncode").Given():
		c.exit(m)
	default:
		c.add(transcript.Note, compact(m))
	}
}

// begin starts a transcript for a process.
func (c *converter) begin(m rawjson.Value) {
	f := &transcript.File{Header: transcript.Header{Agent: c.agent, AgentVersion: c.version, Dir: m.Get("cwd").Text()}}
	cmd := m.Get("cmd")
	if !cmd.Given() {
		cmd = m.Get("argv")
	}
	if cmd.Kind() == rawjson.Array {
		for a := range cmd.Elements() {
			f.Header.Command = append(f.Header.Command, a.Text())
		}
	} else {
		f.Header.Command = withoutEnv(strings.Fields(cmd.Text()))
	}
	if c.last > epochLike {
		f.Header.Start = c.last
	}
	c.files, c.cur, c.conns, c.start = append(c.files, f), f, nil, c.last
}

// epochLike tells times since 1970 from times since a start, in milliseconds.
const epochLike = 1e12

// withoutEnv drops "env -i K=V …" before a command.
func withoutEnv(words []string) []string {
	if len(words) == 0 || words[0] != "env" {
		return words
	}
	for i, w := range words[1:] {
		if w != "-i" && !strings.Contains(w, "=") {
			return words[i+1:]
		}
	}
	return nil
}

// tty reports whether the current process runs in a terminal.
func (c *converter) tty() bool { return c.cur != nil && !hasJSON(c.cur) }

func hasJSON(f *transcript.File) bool {
	for _, r := range f.Records {
		if r.Dir == transcript.Out || r.Dir == transcript.In && jsontext.Value(r.Data).IsValid() {
			return true
		}
	}
	return false
}

// to adds a record to the transcript of a connection, the current one when empty.
func (c *converter) to(conn string, dir transcript.Dir, data []byte) {
	if conn == "" {
		c.add(dir, data)
		return
	}
	c.need()
	f := c.conns[conn]
	if f == nil {
		f = &transcript.File{Header: c.cur.Header}
		if c.conns == nil {
			c.conns = map[string]*transcript.File{}
		}
		c.conns[conn] = f
		c.files = append(c.files, f)
	}
	outer := c.cur
	c.cur = f
	c.add(dir, data)
	c.cur = outer
}

func (c *converter) need() {
	if c.cur == nil {
		c.cur = &transcript.File{Header: transcript.Header{Agent: c.agent, AgentVersion: c.version}}
		c.files = append(c.files, c.cur)
		c.start = c.last
	}
}

func (c *converter) add(dir transcript.Dir, data []byte) {
	c.need()
	if dir == transcript.Out && c.cur.Header.AgentVersion == "" {
		if v, err := rawjson.Parse(data); err == nil {
			c.cur.Header.AgentVersion = v.Get("result", "agentInfo", "version").Text()
		}
	}
	t := max(c.last-c.start, 0)
	c.cur.Records = append(c.cur.Records, transcript.Record{T: t, Dir: dir, Data: c.shorten(data)})
}

// exit takes the child's end in the forms that recordings have.
func (c *converter) exit(v rawjson.Value) {
	for _, name := range []string{"exit", "rc", "returncode"} {
		if code := v.Get(name); code.Kind() != rawjson.Absent {
			if tail := v.Get("stderr").Text(); tail != "" {
				for line := range strings.Lines(tail) {
					c.add(transcript.Err, []byte(strings.TrimRight(line, "\r\n")))
				}
			}
			c.exitCode(code)
			return
		}
	}
	c.add(transcript.Note, compact(v))
}

// exitCode writes the exit. A negative code is a signal, text says that the
// child was still there.
func (c *converter) exitCode(v rawjson.Value) {
	c.need()
	s := adapters.ExitStatus{Requested: true}
	code, ok := v.Int()
	switch {
	case !ok:
		s.Code, s.Signal = -1, "SIGKILL"
	case code < 0:
		s.Code, s.Signal = -1, signal(code)
	default:
		s.Code = int(code)
	}
	c.cur.Records = append(c.cur.Records, transcript.ExitRecord(max(c.last-c.start, 0), s))
}

func signal(code int64) string {
	switch code {
	case -1:
		return "SIGHUP"
	case -2:
		return "SIGINT"
	case -6:
		return "SIGABRT"
	case -9:
		return "SIGKILL"
	case -15:
		return "SIGTERM"
	}
	return fmt.Sprintf("signal %d", -code)
}

// shorten cuts the long strings inside a message.
func (c *converter) shorten(data []byte) []byte {
	v, err := rawjson.Parse(data)
	if err != nil || len(data) <= c.cut {
		return data
	}
	return c.appendShort(nil, v)
}

func (c *converter) appendShort(b []byte, v rawjson.Value) []byte {
	switch v.Kind() {
	case rawjson.Object:
		b = append(b, '{')
		for name, e := range v.Members() {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b = append(rawjson.AppendString(b, name), ':')
			b = c.appendShort(b, e)
		}
		return append(b, '}')
	case rawjson.Array:
		b = append(b, '[')
		for e := range v.Elements() {
			if b[len(b)-1] != '[' {
				b = append(b, ',')
			}
			b = c.appendShort(b, e)
		}
		return append(b, ']')
	case rawjson.String:
		if s := v.Text(); len(s) > c.cut {
			keep := c.cut / 4
			for keep > 0 && !utf8.RuneStart(s[keep]) {
				keep--
			}
			return rawjson.AppendString(b, fmt.Sprintf("%s… (%d bytes cut)", s[:keep], len(s)-keep))
		}
	}
	return append(b, v...)
}
