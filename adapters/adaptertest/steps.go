package adaptertest

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
)

// wireCall is a Call in a golden file.
type wireCall struct {
	T        int64            `json:"t"`
	On       transcript.Dir   `json:"on"`
	Command  jsontext.Value   `json:"cmd,omitzero"`
	Err      string           `json:"err,omitzero"`
	Withdraw []string         `json:"withdraw,omitempty"`
	Emit     []wireDraft      `json:"emit,omitempty"`
	Live     []wireDelta      `json:"live,omitempty"`
	Facts    jsontext.Value   `json:"facts,omitzero"`
	Write    []jsontext.Value `json:"write,omitempty"`
	Effects  []jsontext.Value `json:"effects,omitempty"`
	Done     []wireOutcome    `json:"done,omitempty"`
	Wake     *int64           `json:"wake,omitzero"`
	Stop     string           `json:"stop,omitzero"`
}

type wireDraft struct {
	Role       contract.Role  `json:"role,omitzero"`
	Subagent   string         `json:"subagent,omitzero"`
	Origin     string         `json:"origin,omitzero"`
	Ask        string         `json:"ask,omitzero"`
	EditArgs   bool           `json:"editArgs,omitzero"`
	Message    bool           `json:"message,omitzero"`
	Key        string         `json:"key,omitzero"`
	Prompts    []string       `json:"prompts,omitempty"`
	Background bool           `json:"background,omitzero"`
	Event      jsontext.Value `json:"ev"`
}

type wireDelta struct {
	Subagent string `json:"subagent,omitzero"`
	Call     string `json:"call,omitzero"`
	Thinking bool   `json:"thinking,omitzero"`
	Text     string `json:"text"`
}

type wireOutcome struct {
	ID     string          `json:"id"`
	Result jsontext.Value  `json:"result,omitzero"`
	Err    *contract.Error `json:"err,omitzero"`
}

// encodeCall is one line of a golden file, without its end. Times are
// milliseconds since base.
func encodeCall(c Call, base time.Time) []byte {
	w := wireCall{T: c.T, On: c.On, Withdraw: c.Step.Withdraw, Stop: c.Step.Stop}
	if c.Command != nil {
		w.Command = transcript.CommandRecord(0, c.Command).Data
	}
	if c.Err != nil {
		w.Err = c.Err.Error()
	}
	for _, d := range c.Step.Emit {
		w.Emit = append(w.Emit, encodeDraft(d))
	}
	for _, d := range c.Step.Live {
		w.Live = append(w.Live, wireDelta(d))
	}
	if c.Step.Facts != nil {
		w.Facts = mustJSON(c.Step.Facts, json.OmitZeroStructFields(true))
	}
	for _, m := range c.Step.Write {
		w.Write = append(w.Write, anyJSON(bytes.TrimSuffix(m, []byte("\n"))))
	}
	for _, e := range c.Step.Effects {
		w.Effects = append(w.Effects, transcript.EffectRecord(0, e).Data)
	}
	for _, o := range c.Step.Done {
		out := wireOutcome{ID: o.ID, Err: o.Err}
		if o.Result != nil {
			out.Result = anyJSON(o.Result)
		}
		w.Done = append(w.Done, out)
	}
	if !c.Step.WakeAt.IsZero() {
		ms := c.Step.WakeAt.Sub(base).Milliseconds()
		w.Wake = &ms
	}
	return mustJSON(w)
}

func encodeDraft(d adapters.Draft) wireDraft {
	w := wireDraft{
		Role: d.Role, Subagent: d.Subagent, Origin: d.Origin, Ask: d.Ask, EditArgs: d.AskOptions.EditArgs,
		Message: d.AskOptions.Message, Key: d.Key, Prompts: d.Prompts, Background: d.Background,
	}
	ev, err := contract.AppendEvent(nil, d.Event)
	if err != nil {
		// The stamper mends it; the golden file shows what was wrong.
		ev = mustJSON(fmt.Sprintf("%T: %v", d.Event, err))
	}
	w.Event = ev
	return w
}

// anyJSON is data when it is JSON, else data as a JSON string.
func anyJSON(data []byte) jsontext.Value {
	if v := jsontext.Value(bytes.TrimSpace(data)); v.IsValid(jsontext.AllowDuplicateNames(true)) {
		return v
	}
	return mustJSON(string(data))
}

// mustJSON encodes a value of this package, which cannot fail.
func mustJSON(v any, opts ...json.Options) []byte {
	opts = append(opts, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	b, err := json.Marshal(v, opts...)
	if err != nil {
		panic(fmt.Sprintf("adaptertest: encoding %T: %v", v, err))
	}
	return b
}

// tells reports whether a call is worth a line of a golden file.
func tells(c Call) bool { return c.Err != nil || c.On == transcript.Cmd || c.Says() }

// steps is the golden text of a replay's calls: notes first.
func steps(r replay.Result) []byte {
	var b bytes.Buffer
	for _, n := range r.Notes {
		b.Write(mustJSON(struct {
			Note string `json:"note"`
		}{n}))
		b.WriteByte('\n')
	}
	for _, c := range r.Calls {
		if tells(c) {
			b.Write(encodeCall(c, r.Start))
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// envelopes is the golden text of a replay's stream.
func envelopes(r replay.Result) ([]byte, error) {
	var b []byte
	for i, e := range r.Envelopes {
		var err error
		if b, err = e.AppendJSON(b); err != nil {
			return nil, fmt.Errorf("envelope %d: %w", i+1, err)
		}
		b = append(b, '\n')
	}
	return b, nil
}

// folded is the golden text of what a replay's stream folds to, for clients of
// the session contract.
func folded(r replay.Result) ([]byte, error) {
	f := fold.New(session.Session{ID: r.Info.ID, WorkspaceID: r.Info.Dir})
	for _, e := range r.Envelopes {
		f.Apply(e)
	}
	text, err := fold.Encode(f.Transcript())
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(text)
	if err := v.Indent(jsontext.WithIndent(" "), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return nil, err
	}
	return append(v, '\n'), nil
}
