package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"reflect"
)

// Marshal is the JSON of params, results and pushes: one line without a line end,
// valid UTF-8. Raw members may hold duplicate names, as envelopes may.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.AllowDuplicateNames(true))
}

// Unmarshal reads params of a viewer or a command. Unknown members are ignored,
// duplicate ones refused, since two readers could take different ones. Its error is
// an *Error of CodeInvalid that names the path. Absent params count as {}.
func Unmarshal(data []byte, v any) error {
	return unmarshal(data, v)
}

// UnmarshalStream reads what carries envelopes or raw results, whose insides may
// hold duplicate names. Else it is Unmarshal.
func UnmarshalStream(data []byte, v any) error {
	return unmarshal(data, v, jsontext.AllowDuplicateNames(true))
}

func unmarshal(data []byte, v any, opts ...json.Options) error {
	if len(data) == 0 {
		data = []byte("{}")
	}
	err := json.Unmarshal(data, v, opts...)
	if err == nil {
		return nil
	}
	var sem *json.SemanticError
	if errors.As(err, &sem) && sem.GoType != nil {
		at := string(sem.JSONPointer)
		if at == "" {
			at = "params"
		}
		return Errorf(CodeInvalid, "%s: want %s, got %s", at, jsonWord(sem.GoType), kindWord(sem.JSONKind))
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return Errorf(CodeInvalid, "params are not valid JSON at %q: %v", string(syn.JSONPointer), syn.Err)
	}
	return Errorf(CodeInvalid, "params: %v", err)
}

// jsonWord is what JSON has for a type, for people who do not know our types.
func jsonWord(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	return "integer"
}

// kindWord is a kind of JSON in the same words.
func kindWord(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return k.String()
}

// rpcData is the data member of a JSON-RPC error.
type rpcData struct {
	Code Code           `json:"code"`
	Data jsontext.Value `json:"data,omitempty"`
}

// AsError is err as an *Error: itself when it is or wraps one, else CodeInternal
// with a message that tells nothing of the inside.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Errorf(CodeInternal, "internal error; the server's log has more")
}

// RPCData is the data member of the JSON-RPC error that e becomes; the code member
// is e.Code.RPCCode().
func (e *Error) RPCData() []byte {
	data, err := Marshal(rpcData{Code: e.Code, Data: e.Data})
	if err != nil { // Data is not JSON
		data, _ = Marshal(rpcData{Code: e.Code})
	}
	return data
}

// ErrorOf is the Error of a JSON-RPC error. A peer that gives no code of ours is
// read by its number.
func ErrorOf(code int64, message string, data []byte) *Error {
	var d rpcData
	if json.Unmarshal(data, &d, jsontext.AllowDuplicateNames(true)) == nil && d.Code != "" {
		return &Error{Code: d.Code, Message: message, Data: d.Data}
	}
	for _, c := range Codes() {
		if c.RPCCode() == code {
			return &Error{Code: c, Message: message}
		}
	}
	return &Error{Code: CodeInternal, Message: fmt.Sprintf("%s (code %d)", message, code)}
}

// WithData is e with data as its Data.
func (e *Error) WithData(data any) *Error {
	if raw, err := Marshal(data); err == nil {
		e.Data = raw
	}
	return e
}
