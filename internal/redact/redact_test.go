package redact_test

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/redact"
)

func TestShapes(t *testing.T) {
	r := redact.New()
	for _, c := range []struct{ in, want string }{
		{"nothing here", "nothing here"},
		{"Authorization: Bearer sk-fake-0001", "Authorization: Bearer ***"},
		{"AUTHORIZATION: BEARER abcdefgh", "AUTHORIZATION: BEARER ***"},
		{"?Signature=abc%2F&KEY=d", "?Signature=***&KEY=***"},
		{"ya29.abcdefghijk npm_012345678901234567890123 glpat-abcdefghijkl xoxb-1234567890-a AKIA0123456789ABCDEF ASIA0123456789ABCDEF", "*** *** *** *** *** ***"},
		{"authorization: bearer  abc.def", "authorization: bearer  ***"},
		{"Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==", "Proxy-Authorization: Basic ***"},
		{"Basic types", "Basic types"},
		{"wss://relay.example/ws?token=tok_FAKE_0001&x=1", "wss://relay.example/ws?token=***&x=1"},
		{"https://x/?x=1&access_token=abc#f", "https://x/?x=1&access_token=***"},
		{"key sk-ant-api03-abcdef_ghi, next", "key ***, next"},
		{"risk-adjusted task-force", "risk-adjusted task-force"},
		{"AIzaSyA-1234567890abcdefghijklmnopqrstuv", "***"},
		{`{"api_key":"a\"b","other":"c"}`, `{"api_key":"***","other":"c"}`},
		{`{"password" : "p", "passwords": 3}`, `{"password" : "***", "passwords": 3}`},
		{`{"max_tokens":5,"inputTokens":3}`, `{"max_tokens":5,"inputTokens":3}`},
		{"ghp_0123456789abcdefghij github_pat_0123456789abcdefghij", "*** ***"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcDEF", "***"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n", "***\n"},
		{`"-----BEGIN PRIVATE KEY-----\nMIIE","-----END PRIVATE KEY-----"`, `"-----BEGIN PRIVATE KEY-----\nMIIE","-----END PRIVATE KEY-----"`},
	} {
		if got := r.String(c.in); got != c.want {
			t.Errorf("String(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestSecrets(t *testing.T) {
	r := redact.New("geheim/wort", `quo"te d`, "short", " spaced-secret \n", "geheim/wort-longer")
	for _, c := range []struct{ in, want string }{
		{"a geheim/wort b geheim/wort", "a *** b ***"},
		{"geheim/wort-longer", "***"},
		{`{"x":"quo\"te d"}`, `{"x":"***"}`},
		{"?q=geheim%2Fwort&r=quo%22te+d&s=quo%22te%20d", "?q=***&r=***&s=***"},
		{"short spaced-secret", "short ***"},
		{"log line cut in geheim/wo", "log line cut in ***"},
		{"heim/wort-longer and on", "*** and on"},
		{"geheim is a word", "geheim is a word"},
	} {
		if got := r.String(c.in); got != c.want {
			t.Errorf("String(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	in := []byte("keep me")
	if got := r.Bytes(in); &got[0] != &in[0] {
		t.Error("Bytes copied a text without secrets")
	}
}

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"ANTHROPIC_API_KEY": true, "MY_API_KEY": true, "GITHUB_TOKEN": true, "DB_PASSWORD": true, "Authorization": true, "x-api-key": true, "SIGNING_KEY": true,
		"PATH": false, "HOME": false, "KEYBOARD": false, "MONKEY": false, "ANTHROPIC_BASE_URL": false,
	} {
		if got := redact.SecretName(name); got != want {
			t.Errorf("SecretName(%q) = %t, want %t", name, got, want)
		}
	}
}

type password struct{}

func (password) LogValue() slog.Value { return slog.StringValue("Bearer abcdefgh") }

func TestHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(redact.Handler(slog.NewTextHandler(&out, nil), redact.New("tok_FAKE_0001"))).
		With("url", "ws://h/?token=tok_FAKE_0001", "argv", []string{"agent", "--header", "Authorization: Bearer sk-fake-0001"}).WithGroup("g")
	log.Error("saying tok_FAKE_0001", "err", errors.New("exec: sk-fake-0002: not found"), "n", 7, "MY_API_KEY", "anything",
		slog.Group("deep", "cookie", "c=1", "ok", true), "lazy", password{}, "token", "")
	got := out.String()
	for _, s := range []string{"tok_FAKE", "sk-fake", "anything", "c=1", "abcdefgh"} {
		if strings.Contains(got, s) {
			t.Errorf("the log has %q: %s", s, got)
		}
	}
	for _, s := range []string{"saying ***", "g.n=7", "g.deep.ok=true", `g.token=""`, "exec: ***: not found"} {
		if !strings.Contains(got, s) {
			t.Errorf("the log has no %q: %s", s, got)
		}
	}
}

func FuzzBytes(f *testing.F) {
	f.Add([]byte(`{"password":"x\\","b":"Bearer abcdefg"}`), "secret-value")
	f.Add([]byte("geheim/wort"), "geheim/wort")
	f.Add([]byte(`["sk-aaaaaaa","-----BEGIN PRIVATE KEY-----a","?token=a"]`), `quo"te`)
	f.Add([]byte("22222222"), "22222222\xd6c%TRdM\xc7(")
	f.Fuzz(func(t *testing.T, in []byte, secret string) {
		before := bytes.Clone(in)
		r := redact.New(secret)
		got := r.Bytes(in)
		if !bytes.Equal(in, before) {
			t.Errorf("Bytes changed its argument")
		}
		if s := strings.TrimSpace(secret); len(s) >= 6 && !strings.Contains(redact.Mask, s) && !strings.Contains(s, "*") && bytes.Contains(got, []byte(s)) {
			t.Errorf("Bytes(%q) = %q, which has %q", in, got, s)
		}
		// A secret of JSON's own syntax may break JSON, as may one whose beginning is
		// the whole text when that is a bare number; any other must not.
		if jsontext.Value(in).IsValid() && !isScalar(string(in)) && !strings.ContainsAny(secret, "\"\\[]{}:,") && !isScalar(secret) && !jsontext.Value(got).IsValid() {
			t.Errorf("Bytes(%q) = %q is no JSON", in, got)
		}
	})
}

// isScalar reports whether the secret could be part of a bare number or literal.
func isScalar(s string) bool {
	return strings.Trim(s, "0123456789.eE+-trufalsn \t\r\n") == ""
}

func BenchmarkBytes(b *testing.B) {
	r := redact.New("injected-secret-1", "injected-secret-2")
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"text":"` + strings.Repeat("some words of an answer ", 22) + `"}}`)
	b.SetBytes(int64(len(line)))
	for range b.N {
		r.Bytes(line)
	}
}
