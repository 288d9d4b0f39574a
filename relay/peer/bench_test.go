package peer

import (
	"context"
	"encoding/json/jsontext"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/relay/wire"
)

// benchPair is a WebSocket over loopback.
func benchPair(b *testing.B, h Handler) *Conn {
	b.Helper()
	ended := make(chan error, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Accept(w, r, Options{})
		if err == nil {
			err = c.Serve(context.Background(), h)
		}
		ended <- err
	}))
	c, err := Dial(b.Context(), srv.URL, Options{})
	if err != nil {
		b.Fatal(err)
	}
	go func() { ended <- c.Serve(context.Background(), echo) }()
	b.Cleanup(func() {
		c.Close(StatusNormal, "")
		<-ended
		<-ended
		srv.Close()
	})
	return c
}

// A decision there and back.
func BenchmarkCall(b *testing.B) {
	c := benchPair(b, echo)
	p := wire.DecideParams{Session: "abcdefgh", Call: "call-1", Decision: "allow-once"}
	for b.Loop() {
		if err := c.Call(b.Context(), "echo", p, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// A push of 64 envelopes of 500 bytes, handled.
func BenchmarkNotify(b *testing.B) {
	handled := make(chan struct{}, 1024)
	c := benchPair(b, func(_ context.Context, _ string, params jsontext.Value) (any, error) {
		var p wire.EnvelopesPush
		if err := wire.UnmarshalStream(params, &p); err != nil {
			return nil, err
		}
		handled <- struct{}{}
		return nil, nil
	})
	push := wire.EnvelopesPush{Subscription: "s1", Session: "abcdefgh"}
	for range 64 {
		push.Envelopes = append(push.Envelopes, jsontext.Value(`{"id":"a","time":1,"role":"agent","ev":{"t":"text","text":"`+strings.Repeat("x", 440)+`"}}`))
	}
	b.SetBytes(64 * 500)
	for b.Loop() {
		if err := c.Notify(b.Context(), "n", push); err != nil {
			b.Fatal(err)
		}
		<-handled
	}
}
