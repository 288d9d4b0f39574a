package contract

import (
	"encoding/json/jsontext"
	"errors"
	"strconv"
)

// Decode reads one envelope from one JSON object, with or without a line end. It
// keeps nothing of line.
//
// It takes what a newer or sloppier peer writes: unknown members (kept in
// Extra), unknown event types (kept as Unknown), unknown values of enumerations,
// duplicate names (the last one counts), null for an absent optional member, and
// broken UTF-8 or unpaired surrogates, which become U+FFFD everywhere, inside
// raw members too.
//
// It refuses what has the wrong type or lacks a member that its event cannot do
// without. The error is Faults and names every one; the envelope then holds what
// could be read. Roles, ids and values are Validate's job.
func Decode(line []byte) (Envelope, error) {
	clean, err := wholeObject(line)
	if err != nil {
		return Envelope{}, err
	}
	d := newDecoder()
	e := inside(d, clean, readEnvelope)
	return e, d.faults.err()
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. The decoder's own options
// apply first: by default encoding/json/v2 refuses the duplicate names and the
// broken UTF-8 that Decode mends.
func (e *Envelope) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*e, err = Decode(v)
	return err
}

// DecodeEvent reads the body of an envelope, the object that has "t". The error
// is Faults, with paths below the event.
func DecodeEvent(ev []byte) (Event, error) {
	clean, err := wholeObject(ev)
	if err != nil {
		return nil, err
	}
	d := newDecoder()
	event := inside(d, clean, readEvent)
	return event, d.faults.err()
}

// wholeObject checks that text is one JSON object and mends its UTF-8.
func wholeObject(text []byte) ([]byte, error) {
	clean, ok := repaired(trimSpace(text))
	switch {
	case !ok:
		return nil, Faults{{Want: "JSON object", Got: syntaxFault(text)}}
	case clean[0] != '{':
		return nil, Faults{{Want: "JSON object", Got: kindOf(clean)}}
	case Deeper(clean, maxDepth):
		return nil, Faults{{Want: "nesting of at most 9000 levels", Got: "more"}}
	}
	return clean, nil
}

// syntaxFault says why text is not JSON.
func syntaxFault(text []byte) string {
	if len(trimSpace(text)) == 0 {
		return "nothing"
	}
	var v jsontext.Value = append([]byte(nil), text...)
	err := v.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return syntax.Err.Error() + " at byte " + strconv.FormatInt(syntax.ByteOffset, 10)
	}
	return "invalid JSON"
}

func readEnvelope(o object) Envelope {
	e := Envelope{
		ID:       o.text("id"),
		Time:     o.integer("time"),
		Role:     Role(o.text("role")),
		Turn:     o.optText("turn"),
		Subagent: o.optText("subagent"),
		Origin:   o.optText("origin"),
	}
	if ev := o.require("ev", "object"); ev != nil {
		if ev[0] != '{' {
			o.faults.add("ev", "object", kindOf(ev))
		} else {
			mark := len(o.faults)
			e.Event = inside(o.decoder, ev, readEvent)
			o.faults.under(mark, "ev")
		}
	}
	e.Extra = o.rest()
	return e
}
