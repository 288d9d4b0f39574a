package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/wire"
)

// FuzzRequest: whatever comes over HTTP is answered; a refusal is a wire.Error with the
// status of its code, and nothing is a fault of ours. Without the token nothing is done.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/v1/sessions/last/envelopes", "from=1&limit=2", "", "", "", "", true)
	f.Add("GET", "/v1/sessions/last/events", "profile=strict", "text/event-stream", "7", "", "", true)
	f.Add("POST", "/v1/sessions/last/messages", "", "", "", "application/json", `{"text":"x"}`, true)
	f.Add("POST", "/v1/sessions/last/permissions/a%2Fb", "", "", "", "application/json; charset=utf-8", `{"decision":1}`, true)
	f.Add("PATCH", "/v1/files/f1", "", "", "", "application/octet-stream", "bytes", true)
	f.Add("OPTIONS", "/v1/files/../x", "token=1", "application/x-ndjson", "-1", "text/plain", "", false)
	f.Fuzz(func(t *testing.T, method, path, query, accept, last, kind, body string, known bool) {
		host, tokens := gatewaytest.New(), &gatewaytest.Tokens{}
		tokens.Set("t0ken", gateway.Principal{Caller: wire.Caller{Scope: wire.ScopeAdmin, Local: true}, Backend: host})
		gw := gateway.New(gateway.Options{Auth: tokens})
		s := host.Add(wire.Session{})
		host.Say(s.ID, "text")
		r, err := http.NewRequest(method, "http://localhost/", strings.NewReader(body))
		if err != nil || !strings.HasPrefix(path, "/") || method == http.MethodConnect {
			t.Skip("no request that a server could get")
		}
		r.URL.Path, r.URL.RawQuery = path, query
		r.Header.Set("Accept", accept)
		r.Header.Set("Last-Event-ID", last)
		r.Header.Set("Content-Type", kind)
		if known {
			r.Header.Set("Authorization", "Bearer t0ken")
		}
		// A stream ends when its session is removed, and one of sessions with ctx.
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			gw.ServeHTTP(w, r.WithContext(ctx))
		}()
		if strings.Contains(accept, "event-stream") || strings.Contains(query, "follow") {
			cancel()
		}
		<-done
		answer := w.Body.String()
		if strings.Contains(answer, "t0ken") {
			t.Fatalf("the token comes back: %s", answer)
		}
		if !known && len(host.Calls()) > 0 {
			t.Fatalf("done without a token: %+v", host.Calls())
		}
		if w.Code >= 400 && method != http.MethodHead {
			var e wire.Error
			if err := wire.Unmarshal([]byte(answer), &e); err != nil || e.Code.HTTPStatus() != w.Code || e.Code == wire.CodeInternal {
				t.Fatalf("%d %s", w.Code, answer)
			}
		}
	})
}
