package contract

import (
	"encoding/json/jsontext"
	"reflect"
)

// Encode returns the JSON of e as one line, without a line end. On an error,
// which is Faults, it returns nil.
func Encode(e Envelope) ([]byte, error) {
	return e.AppendJSON(make([]byte, 0, 512))
}

// AppendJSON appends what Encode returns to b. On an error, which is Faults, it
// returns nil: nothing half-written can reach a writer.
//
// What it writes is valid UTF-8 without unpaired surrogates at every depth;
// broken text is mended with U+FFFD. It refuses what JSON cannot hold: a cost
// that is NaN or infinite, raw members that are not JSON, Args that are no
// object, a missing event.
func (e Envelope) AppendJSON(b []byte) ([]byte, error) {
	start := len(b)
	w := encoder{b: append(b, '{')}
	w.text("id", e.ID)
	w.integer("time", e.Time)
	w.text("role", string(e.Role))
	w.optText("turn", e.Turn)
	w.optText("subagent", e.Subagent)
	w.optText("origin", e.Origin)
	w.name("ev")
	mark := len(w.faults)
	w.event(e.Event)
	w.faults.under(mark, "ev")
	if e.Extra != nil {
		w.extra(e.Extra, reflect.TypeFor[wireEnvelope]())
	}
	w.b = append(w.b, '}')
	switch line := w.b[start:]; {
	case len(line) > maxSize:
		w.faults.add("", "at most 2 GiB", "more")
	case Deeper(line, maxDepth):
		w.faults.add("", "nesting of at most 9000 levels", "more")
	}
	if len(w.faults) > 0 {
		return nil, w.faults
	}
	return w.b, nil
}

// MarshalJSONTo implements json.MarshalerTo. The encoder's own options apply on
// top: with the defaults of encoding/json/v2 it refuses duplicate names inside
// raw members, which Encode passes through.
func (e Envelope) MarshalJSONTo(enc *jsontext.Encoder) error {
	b, err := Encode(e)
	if err != nil {
		return err
	}
	return enc.WriteValue(b)
}

// AppendEvent appends the JSON of an event alone, "t" first. The error is
// Faults, with paths below the event.
func AppendEvent(b []byte, ev Event) ([]byte, error) {
	w := encoder{b: b}
	w.event(ev)
	if len(w.faults) > 0 {
		return nil, w.faults
	}
	return w.b, nil
}

// wireEnvelope names the members of an envelope in their order on the wire.
type wireEnvelope struct {
	ID       string         `json:"id"`
	Time     int64          `json:"time"`
	Role     Role           `json:"role"`
	Turn     string         `json:"turn,omitzero"`
	Subagent string         `json:"subagent,omitzero"`
	Origin   string         `json:"origin,omitzero"`
	Event    jsontext.Value `json:"ev"`
	Extra    jsontext.Value `json:",embed"`
}
