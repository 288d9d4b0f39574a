package peer

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// HTTP is a client for the HTTP face of the server that Dial of the same address and
// options connects to, and the URL below which that is, without a slash at its end.
// The client sends the token and follows no redirects. Close its idle connections
// when it is no longer needed.
func HTTP(rawURL string, opts Options) (*http.Client, string, error) {
	opts = opts.withDefaults()
	target, transport, err := route(rawURL, opts)
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, "", fmt.Errorf("address of the relay: cannot be read")
	}
	switch u.Scheme {
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	}
	u.Path, u.RawQuery, u.Fragment = strings.TrimSuffix(strings.TrimSuffix(u.Path, Path), "/"), "", ""
	return &http.Client{
		Transport:     &bearer{transport, opts},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this server
	}, u.String(), nil
}

// bearer adds what Dial sends.
type bearer struct {
	*http.Transport
	opts Options
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range b.opts.Header {
		r.Header[name] = values
	}
	if b.opts.Token != "" {
		r.Header.Set("Authorization", "Bearer "+b.opts.Token)
	}
	return b.Transport.RoundTrip(r)
}
