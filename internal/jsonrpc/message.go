package jsonrpc

import (
	"errors"
	"fmt"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// Kind says what a message is.
type Kind int

// The kinds of messages.
const (
	// Notification has a method and no id.
	Notification Kind = iota + 1
	// Request has a method and an id, which may be null.
	Request
	// Response has an id and no method. An answer to what the peer could not
	// read has the id null or none.
	Response
)

// Message is one message. Its slices alias the bytes given to Parse.
type Message struct {
	Kind Kind
	// ID is the id as it was written, nil when there is none.
	ID rawjson.Value
	// Method is set for requests and notifications.
	Method string
	// Params is absent when the message has none.
	Params rawjson.Value
	// Result is an answer's result; absent and null both mean nothing. It is
	// only to be read when Err is nil.
	Result rawjson.Value
	// Err is set for an answer that is an error.
	Err *Error
}

// Error is the error of an answer.
type Error struct {
	// Code is any integer: JSON-RPC's, ACP's, or an HTTP status.
	Code int64
	// Message may hold anything, JSON text included.
	Message string
	// Data is any JSON, absent when there is none.
	Data rawjson.Value
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Codes of JSON-RPC 2.0, and those of ACP beside them.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
	Cancelled      = -32800
	AuthRequired   = -32000
	NotFound       = -32002
)

var (
	// ErrNotJSON says that a line is no JSON at all: a banner or a log line.
	ErrNotJSON = errors.New("line is not JSON")
	// ErrNotMessage says that a line is JSON but no JSON-RPC message.
	ErrNotMessage = errors.New("not a JSON-RPC message")
)

// Parse reads a line that holds one message. A batch is ErrNotMessage; see
// SplitBatch.
func Parse(line []byte) (Message, error) {
	v, err := rawjson.Parse(line)
	if err != nil {
		return Message{}, ErrNotJSON
	}
	return read(v)
}

// SplitBatch yields the messages of a line: one, or those of a batch in their
// order. An element that is no message is yielded as an error; the others count
// all the same. MCP and ACP have no batches, JSON-RPC 2.0 has.
func SplitBatch(line []byte, yield func(Message, error)) {
	v, err := rawjson.Parse(line)
	switch {
	case err != nil:
		yield(Message{}, ErrNotJSON)
	case v.Kind() != rawjson.Array:
		yield(read(v))
	case v.Empty():
		yield(Message{}, ErrNotMessage)
	default:
		for e := range v.Elements() {
			yield(read(e))
		}
	}
}

// read classifies by what is there: method and id, method alone, or no method.
func read(v rawjson.Value) (Message, error) {
	if v.Kind() != rawjson.Object {
		return Message{}, ErrNotMessage
	}
	var m Message
	var method, errv rawjson.Value
	hasResult := false
	for name, value := range v.Members() {
		switch name {
		case "id":
			m.ID = value
		case "method":
			method = value
		case "params":
			m.Params = value
		case "result":
			m.Result, hasResult = value, true
		case "error":
			errv = value
		}
	}
	switch {
	case method != nil && method.Kind() != rawjson.String:
		return Message{}, fmt.Errorf("%w: method is %q", ErrNotMessage, method.Clean())
	case method != nil && m.ID != nil:
		m.Kind, m.Method = Request, method.Text()
	case method != nil:
		m.Kind, m.Method = Notification, method.Text()
	case errv.Given():
		m.Kind, m.Err = Response, readError(errv)
	case m.ID.Given() || hasResult:
		m.Kind = Response
	default:
		return Message{}, fmt.Errorf("%w: neither method nor id", ErrNotMessage)
	}
	return m, nil
}

// readError takes an error of any shape; some peers send a bare text.
func readError(v rawjson.Value) *Error {
	e := &Error{Data: v.Get("data")}
	e.Code, _ = v.Get("code").Int()
	switch msg := v.Get("message"); {
	case msg.Kind() == rawjson.String:
		e.Message = msg.Text()
	case msg.Given():
		e.Message = string(msg.Clean())
	case v.Kind() == rawjson.String:
		e.Message = v.Text()
	case v.Kind() != rawjson.Object:
		e.Message = string(v.Clean())
	}
	return e
}
