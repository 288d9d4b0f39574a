package jsonrpc

import (
	"strconv"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// The Append functions append one message with its line end. Raw JSON must be
// strict and on one line; nil params and results are left out or null.

// AppendRequest appends a request of ours.
func AppendRequest(dst []byte, id int64, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	return appendCall(append(dst, ','), method, params)
}

// AppendNotification appends a notification.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendCall(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = rawjson.AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}', '\n')
}

// AppendResult appends the answer to the peer's request id. A nil result is null.
func AppendResult(dst []byte, id rawjson.Value, result []byte) []byte {
	dst = append(appendID(dst, id), `,"result":`...)
	if result == nil {
		result = []byte("null")
	}
	dst = append(dst, result...)
	return append(dst, '}', '\n')
}

// AppendError appends an error as the answer to the peer's request id. Data is
// left out when it is nil.
func AppendError(dst []byte, id rawjson.Value, code int64, message string, data []byte) []byte {
	dst = append(appendID(dst, id), `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, code, 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, message)
	if data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, '}', '}', '\n')
}

// appendID echoes an id byte for byte, unless it holds what strict peers refuse.
func appendID(dst []byte, id rawjson.Value) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(dst, "null"...)
	}
	return append(dst, id.Clean()...)
}
