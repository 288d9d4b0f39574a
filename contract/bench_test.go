package contract_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
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

// BenchmarkStandardLibrary is the yardstick: the same line through
// encoding/json/v2 by reflection. Compare ratios within one run.
func BenchmarkStandardLibrary(b *testing.B) {
	type event struct {
		T           contract.EventType `json:"t"`
		Call        string             `json:"call"`
		Name        string             `json:"name"`
		Title       string             `json:"title"`
		Description string             `json:"description"`
		Args        jsontext.Value     `json:"args"`
		Native      string             `json:"native,omitzero"`
		Extra       jsontext.Value     `json:",embed"`
	}
	type envelope struct {
		ID       string         `json:"id"`
		Time     int64          `json:"time"`
		Role     contract.Role  `json:"role"`
		Turn     string         `json:"turn,omitzero"`
		Subagent string         `json:"subagent,omitzero"`
		Origin   string         `json:"origin,omitzero"`
		Event    event          `json:"ev"`
		Extra    jsontext.Value `json:",embed"`
	}
	b.Run("Decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var e envelope
			if err := json.Unmarshal([]byte(hotLine), &e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Encode", func(b *testing.B) {
		var e envelope
		if err := json.Unmarshal([]byte(hotLine), &e); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(&e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
