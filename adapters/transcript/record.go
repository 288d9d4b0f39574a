package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
)

// Dir says who said a Record to whom.
type Dir string

// The directions. The first six are frames for Protocol.Receive.
const (
	Out  Dir = "out"  // a line of the child's stdout
	Err  Dir = "err"  // a line of its stderr
	Term Dir = "term" // its screen, an adapters.Screen
	Log  Dir = "log"  // a line of a file it writes
	Hook Dir = "hook" // a request of a hook it calls
	Sock Dir = "sock" // a message of a socket
	// In is a message written to the child, without its line end.
	In Dir = "in"
	// Cmd is a command for Protocol.Submit.
	Cmd Dir = "cmd"
	// Tick is a call of Protocol.Tick.
	Tick Dir = "tick"
	// Exit is the child's end, for Protocol.Exit. What follows is another child's.
	Exit Dir = "exit"
	// Run begins a further child of the session, with what its Protocol was told.
	Run Dir = "run"
	// Effect is what a Protocol asked the host to do; what became of it is a Cmd.
	Effect Dir = "effect"
	// Note is a remark for people.
	Note Dir = "note"
)

// Record is one line of a transcript after the header.
type Record struct {
	// T is milliseconds since Header.Start.
	T   int64
	Dir Dir
	// Data is the frame, the message, or the JSON of a command, an exit status
	// or an effect; empty for a tick.
	Data []byte
	// Dropped, ID, File and Reconnected are those of adapters.Frame.
	Dropped     int64
	ID, File    string
	Reconnected bool
}

// source is the frame source of a direction; false when it is no frame's.
func (d Dir) source() (adapters.Source, bool) {
	switch d {
	case Out:
		return adapters.Stdout, true
	case Err:
		return adapters.Stderr, true
	case Term:
		return adapters.Terminal, true
	case Log:
		return adapters.LogFile, true
	case Hook:
		return adapters.Hook, true
	case Sock:
		return adapters.Socket, true
	default:
		return 0, false
	}
}

// FrameRecord makes the record of a frame. It copies the data.
func FrameRecord(t int64, f adapters.Frame) Record {
	f.Data = slices.Clone(f.Data)
	return FrameView(t, f)
}

// FrameView is FrameRecord that shares the frame's data.
func FrameView(t int64, f adapters.Frame) Record {
	r := Record{T: t, Dir: Out, Data: f.Data, Dropped: f.Dropped, ID: f.ID, File: f.File, Reconnected: f.Reconnected}
	for _, d := range [...]Dir{Out, Err, Term, Log, Hook, Sock} {
		if src, _ := d.source(); src == f.Source {
			r.Dir = d
		}
	}
	return r
}

// Frame returns the record's frame; false when it is not one. It shares the
// record's data.
func (r Record) Frame() (adapters.Frame, bool) {
	src, ok := r.Dir.source()
	if !ok {
		return adapters.Frame{}, false
	}
	return adapters.Frame{
		Source: src, Data: r.Data, Dropped: r.Dropped, ID: r.ID, File: r.File, Reconnected: r.Reconnected,
	}, true
}

// InRecord makes the record of a message that is written to the child. One line
// end at the end of msg is left out.
func InRecord(t int64, msg []byte) Record {
	if n := len(msg); n > 0 && msg[n-1] == '\n' {
		msg = msg[:n-1]
	}
	return Record{T: t, Dir: In, Data: slices.Clone(msg)}
}

// TickRecord makes the record of a tick.
func TickRecord(t int64) Record { return Record{T: t, Dir: Tick} }

// NoteRecord makes the record of a remark.
func NoteRecord(t int64, text string) Record { return Record{T: t, Dir: Note, Data: []byte(text)} }

// exitStatus is adapters.ExitStatus on the wire.
type exitStatus struct {
	Code      int    `json:"code"`
	Signal    string `json:"signal,omitzero"`
	Err       string `json:"err,omitzero"`
	Stderr    string `json:"stderr,omitzero"`
	Requested bool   `json:"requested,omitzero"`
}

// ExitRecord makes the record of the child's end.
func ExitRecord(t int64, s adapters.ExitStatus) Record {
	return Record{T: t, Dir: Exit, Data: mustJSON(exitStatus(s))}
}

// Exit returns the exit status of an Exit record.
func (r Record) Exit() (adapters.ExitStatus, error) {
	if r.Dir != Exit {
		return adapters.ExitStatus{}, fmt.Errorf("want a record of direction %q, got %q", Exit, r.Dir)
	}
	s := exitStatus{}
	if len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, &s, lenient()); err != nil {
			return adapters.ExitStatus{}, fmt.Errorf("decoding exit status: %w", err)
		}
	}
	return adapters.ExitStatus(s), nil
}

// RunRecord makes the record of a further child, whose Protocol is told info. What
// a header masks is masked.
func RunRecord(t int64, info adapters.SessionInfo) Record {
	return Record{T: t, Dir: Run, Data: mustJSON(NewHeader("", info))}
}

// Run returns what the Protocol of a Run record was told.
func (r Record) Run() (adapters.SessionInfo, error) {
	if r.Dir != Run {
		return adapters.SessionInfo{}, fmt.Errorf("want a record of direction %q, got %q", Run, r.Dir)
	}
	var h Header
	if err := json.Unmarshal(r.Data, &h, lenient()); err != nil {
		return adapters.SessionInfo{}, fmt.Errorf("decoding a run: %w", err)
	}
	return h.SessionInfo(), nil
}

// appendRecord appends the record's line without its end. It is written by hand
// because the JSON encoder would reformat the frame.
func appendRecord(b []byte, r Record) []byte {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, r.T, 10)
	b = append(b, `,"d":`...)
	b = appendString(b, string(r.Dir))
	switch {
	case len(r.Data) == 0:
	case isLineJSON(r.Data):
		b = append(append(b, `,"m":`...), r.Data...)
	case utf8.Valid(r.Data):
		b = appendString(append(b, `,"raw":`...), string(r.Data))
	default:
		b = append(b, `,"b64":"`...)
		b = base64.StdEncoding.AppendEncode(b, r.Data)
		b = append(b, '"')
	}
	if r.Dropped != 0 {
		b = strconv.AppendInt(append(b, `,"dropped":`...), r.Dropped, 10)
	}
	if r.ID != "" {
		b = appendString(append(b, `,"id":`...), r.ID)
	}
	if r.File != "" {
		b = appendString(append(b, `,"file":`...), r.File)
	}
	if r.Reconnected {
		b = append(b, `,"reconnected":true`...)
	}
	return append(b, '}')
}

// isLineJSON reports whether data is strictly valid JSON that can stand inside a
// line and comes back without a byte changed.
func isLineJSON(data []byte) bool {
	first, last := data[0], data[len(data)-1]
	if first <= ' ' || last <= ' ' {
		return false
	}
	if bytes.IndexByte(data, '\n') >= 0 || bytes.IndexByte(data, '\r') >= 0 {
		return false
	}
	return jsontext.Value(data).IsValid()
}

func appendString(b []byte, s string) []byte {
	// s is valid UTF-8, so quoting cannot fail; U+FFFD stands in if it is not.
	out, _ := jsontext.AppendQuote(b, s)
	return out
}

// wireRecord is a record's line for decoding.
type wireRecord struct {
	T       *int64         `json:"t"`
	D       Dir            `json:"d"`
	M       jsontext.Value `json:"m"`
	Raw     *string        `json:"raw"`
	B64     []byte         `json:"b64"`
	Dropped int64          `json:"dropped"`

	ID          string `json:"id"`
	File        string `json:"file"`
	Reconnected bool   `json:"reconnected"`
}

// parseRecord decodes a record's line.
func parseRecord(line []byte) (Record, error) {
	var w wireRecord
	if err := json.Unmarshal(line, &w, lenient()); err != nil {
		return Record{}, err
	}
	switch {
	case w.T == nil:
		return Record{}, errors.New(`want a member "t" in milliseconds, got none`)
	case w.D == "":
		return Record{}, errors.New(`want a member "d" with the direction, got none`)
	}
	r := Record{T: *w.T, Dir: w.D, Dropped: w.Dropped, ID: w.ID, File: w.File, Reconnected: w.Reconnected}
	switch {
	case w.M != nil:
		r.Data = w.M
	case w.Raw != nil:
		r.Data = []byte(*w.Raw)
	default:
		r.Data = w.B64
	}
	return r, nil
}

// lenient are the options for reading: frames may hold any JSON.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// mustJSON encodes a value of this package, which cannot fail: the types hold
// nothing that JSON cannot, and raw members are checked before.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true), lenient())
	if err != nil {
		panic(fmt.Sprintf("transcript: encoding %T: %v", v, err))
	}
	return b
}
