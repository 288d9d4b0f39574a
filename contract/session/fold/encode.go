package fold

import (
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// wire writes session contract values as their tags mean them (omitempty leaves
// out false and 0), with raw JSON byte for byte and nothing escaped for HTML.
var wire = json.JoinOptions(
	jsonv1.OmitEmptyWithLegacySemantics(true),
	json.Deterministic(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
	jsontext.PreserveRawStrings(true),
)

// Encode returns the JSON of an event, a transcript or anything else made of the
// session contract's types, as one line without a line end. It is the wire form:
// encoding/json/v2 with its defaults would write empty members out.
func Encode(v any) ([]byte, error) {
	return json.Marshal(v, wire)
}
