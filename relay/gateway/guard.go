package gateway

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/relay/wire"
)

// bearerProtocol is how a browser, which cannot set headers on a WebSocket, sends a
// token: as a subprotocol beside agenthost.v1.
const bearerProtocol = "bearer."

// guard refuses what a page of somebody else could have sent. A request that passes
// may still have no token.
func (g *Gateway) guard(w http.ResponseWriter, r *http.Request) *wire.Error {
	if err := g.checkHost(r); err != nil {
		return err
	}
	if err := g.checkOrigin(w, r); err != nil {
		return err
	}
	if err := checkQuery(r.URL.RawQuery); err != nil {
		return err
	}
	liftBearer(r)
	return nil
}

// checkHost keeps a name that was made to point at this machine (DNS rebinding) from
// being a way in.
func (g *Gateway) checkHost(r *http.Request) *wire.Error {
	name := hostname(r.Host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return nil
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return nil
	}
	if slices.ContainsFunc(g.opts.Hosts, func(h string) bool { return sameHost(h, r.Host) }) {
		return nil
	}
	return wire.Errorf(wire.CodeForbidden, "requests to the host %q are not served here; if that is a name of this server, add it with %s", clip(r.Host), g.opts.HostSetting)
}

// sameHost reports whether an allowed host is that of a request: with its port, if it
// names one.
func sameHost(allowed, got string) bool {
	if _, _, err := net.SplitHostPort(allowed); err == nil {
		return strings.EqualFold(allowed, got)
	}
	return hostname(allowed) == hostname(got)
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = host
	}
	return strings.ToLower(strings.Trim(hostport, "[]"))
}

// checkOrigin keeps foreign pages out, and tells the browser of those that are not
// foreign. A request without an Origin comes from no page.
func (g *Gateway) checkOrigin(w http.ResponseWriter, r *http.Request) *wire.Error {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	origin := origins[0]
	u, err := url.Parse(origin)
	known := slices.ContainsFunc(g.opts.Origins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) })
	own := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	if len(origins) > 1 || !known && !own {
		return wire.Errorf(wire.CodeForbidden, "pages of the origin %q may not use this; if you trust them, add it with %s", clip(origin), g.opts.OriginSetting)
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Agenthost-Position, Upload-Offset, Retry-After")
	return nil
}

// preflight answers the question of a browser whether a page may ask.
func preflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, Upload-Offset")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// checkQuery refuses tokens in the URL, which ends in logs and histories.
func checkQuery(raw string) *wire.Error {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return wire.Errorf(wire.CodeInvalid, "the query of the URL cannot be read")
	}
	for name := range q {
		switch strings.ToLower(name) {
		case "token", "access_token", "accesstoken", "bearer", "authorization", "auth", "api_key", "apikey", "key", "secret", "password":
			return wire.Errorf(wire.CodeUnauthorized, "a secret in the URL (%q) is refused, since URLs end in logs; send it as Authorization: Bearer", clip(name))
		}
	}
	return nil
}

// liftBearer makes the subprotocol bearer.TOKEN an Authorization header, and takes it
// out of the request, so that nobody repeats it in an answer.
func liftBearer(r *http.Request) {
	var keep []string
	var token string
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			p = strings.TrimSpace(p)
			if t, ok := strings.CutPrefix(p, bearerProtocol); ok {
				token = t
			} else if p != "" {
				keep = append(keep, p)
			}
		}
	}
	if token == "" {
		return
	}
	r.Header.Del("Sec-WebSocket-Protocol")
	if len(keep) > 0 {
		r.Header.Set("Sec-WebSocket-Protocol", strings.Join(keep, ", "))
	}
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

// needJSON refuses a body that a page can send without asking (CSRF).
func needJSON(r *http.Request, want string) *wire.Error {
	got := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(got)
	if err == nil && kind == want {
		return nil
	}
	return wire.Errorf(wire.CodeBadType, "want Content-Type: %s, got %q", want, clip(got))
}

// clip bounds what is repeated of a request.
func clip(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
