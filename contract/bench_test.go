package contract_test

import (
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// hotLine is a typical line of a stream.
const hotLine = `{"id":"tz4a98xxat96iws9zmbrgj3a","time":1739347200000,"role":"agent","turn":"pfh0haxfpzowht3oi213cqos","ev":{"t":"tool-call-start","call":"toolu_01AbCdEf","name":"bash","title":"Run ` + "`npm test`" + `","description":"Run the test suite","args":{"command":"npm test","description":"Run the test suite"}}}`

func BenchmarkEncode(b *testing.B) {
	e, err := contract.Decode([]byte(hotLine))
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = e.AppendJSON(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := contract.Decode([]byte(hotLine)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPeekType(b *testing.B) {
	in := []byte(hotLine)
	b.ReportAllocs()
	for b.Loop() {
		if contract.PeekType(in) != contract.TypeToolCallStart {
			b.Fatal("wrong type")
		}
	}
}
