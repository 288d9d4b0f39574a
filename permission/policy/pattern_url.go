package policy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// address is a parsed URL in the form in which it is compared.
type address struct {
	raw string
	// scheme, host and port are lower case; port is never empty. path is clean and
	// begins with "/".
	scheme, host, port, path, query string
	// why says why it must not be allowed, empty when it may.
	why string
}

// String is the address in canonical form.
func (a address) String() string {
	s := a.scheme + "://" + net.JoinHostPort(a.host, a.port) + a.path
	if a.query != "" {
		s += "?" + a.query
	}
	return s
}

// parseAddress reads a URL. Whatever two programs may read differently gets a why.
func parseAddress(raw string) address {
	a := address{raw: raw}
	if strings.TrimSpace(raw) == "" {
		a.why = "the address is empty"
		return a
	}
	for _, c := range raw {
		if c <= ' ' || c == 0x7f || c == '\\' || c == '|' || c == '^' || c == '`' || c == '<' || c == '>' || c == '"' {
			a.why = fmt.Sprintf("the address holds %q, which programs read differently", c)
		}
	}
	text := raw
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		a.set("the address cannot be parsed")
		return a
	}
	a.scheme, a.host, a.port = strings.ToLower(u.Scheme), strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	a.query = u.RawQuery
	switch {
	case a.scheme != "http" && a.scheme != "https":
		a.set("want http or https")
	case u.User != nil:
		a.set("the address holds a user name")
	case a.host == "":
		a.set("the address has no host")
	case strings.ContainsAny(a.host, "%*") || !ascii(a.host):
		a.set("the host is not written in plain letters")
	case numericHost(a.host):
		a.set("the host is an address in a form that programs read differently")
	}
	if a.port == "" {
		a.port = map[string]string{"http": "80"}[a.scheme]
		if a.port == "" {
			a.port = "443"
		}
	}
	p := u.Path
	if strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") || strings.Contains(p, "\\") || strings.Contains(p, "%") {
		a.set("the path is encoded in a way that programs read differently")
	}
	a.path = path.Clean("/" + p)
	return a
}

func (a *address) set(why string) {
	if a.why == "" {
		a.why = why
	}
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// numericHost reports whether host is a number that some programs take for an
// address: 2130706433, 0x7f.1, 127.1.
func numericHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"))
}

// urlPattern matches addresses by scheme, host, port and path.
type urlPattern struct {
	scheme, host, port, path string
}

func parseURLPattern(text string) (urlPattern, error) {
	var p urlPattern
	rest := strings.TrimPrefix(text, "domain:")
	if s, r, ok := strings.Cut(rest, "://"); ok {
		p.scheme, rest = strings.ToLower(s), r
		if p.scheme != "http" && p.scheme != "https" && p.scheme != "*" {
			return p, fmt.Errorf("want http or https, got %q", s)
		}
	}
	if p.scheme == "*" {
		p.scheme = ""
	}
	host, tail, hasPath := strings.Cut(rest, "/")
	if hasPath {
		p.path = "/" + tail
	}
	if v6, port, ok := strings.Cut(host, "]"); ok && strings.HasPrefix(v6, "[") {
		host, p.port = v6[1:], strings.TrimPrefix(port, ":")
	} else if h, port, ok := strings.Cut(host, ":"); ok {
		host, p.port = h, port
	}
	p.host = strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case p.host == "":
		return p, errors.New("want HOST or HOST/PATH, got no host")
	case strings.ContainsAny(text, " \t?#@"):
		return p, fmt.Errorf("want HOST or HOST/PATH without user, query and fragment, got %q", text)
	case strings.Contains(p.host, "*") && p.host != "*" && (!strings.HasPrefix(p.host, "*.") || strings.Contains(p.host[2:], "*")):
		return p, fmt.Errorf("want * only as the first label of a host, got %q", p.host)
	}
	return p, nil
}

// allows reports whether a is in p.
func (p urlPattern) allows(a address) bool {
	if a.why != "" || p.scheme != "" && p.scheme != a.scheme {
		return false
	}
	if p.port != "" && p.port != "*" && p.port != a.port ||
		p.port == "" && a.port != "443" && a.port != "80" {
		return false
	}
	return p.hostIn(a.host) && (p.path == "" || matchGlob(p.path, a.path) || p.path == a.path+"/")
}

// touches reports whether a may be in p, ports and schemes apart.
func (p urlPattern) touches(a address) bool {
	hosts := []string{a.host}
	if h := fold(a.host); h != a.host {
		hosts = append(hosts, h)
	}
	for _, h := range hosts {
		if p.hostIn(h) && (p.path == "" || matchGlob(fold(p.path), fold(a.path)) || fold(p.path) == fold(a.path)+"/") {
			return true
		}
	}
	return false
}

func (p urlPattern) hostIn(host string) bool {
	if p.host == "*" || p.host == host {
		return true
	}
	suffix, ok := strings.CutPrefix(p.host, "*")
	return ok && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}
