package gateway

import (
	"encoding/json/jsontext"
	"errors"
	"io"
	"net/http"
	"reflect"

	"github.com/agenthost/agenthost/relay/wire"
)

// params are the body of a request as params of a method, read within mem, with the
// names in the path set. What they hold must be of the method's types; unknown members pass.
func (g *Gateway) params(w http.ResponseWriter, r *http.Request, mem *pool, s wire.Shape, body bool) (jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	if body {
		raw, err := g.body(w, r, mem)
		if err != nil {
			return nil, err
		}
		if err := wire.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"session", "call", "name"} {
		if v := r.PathValue(name); v != "" {
			quoted, err := wire.Marshal(v)
			if err != nil {
				return nil, wire.Errorf(wire.CodeInvalid, "%s in the path is not valid UTF-8", name)
			}
			members[name] = quoted
		}
	}
	params, err := wire.Marshal(members)
	if err != nil {
		return nil, wire.Errorf(wire.CodeInvalid, "the body is not valid JSON")
	}
	if err := wire.Unmarshal(params, reflect.New(reflect.TypeOf(s.Params)).Interface()); err != nil {
		return nil, err
	}
	return params, nil
}

// body reads a JSON body, within mem.
func (g *Gateway) body(w http.ResponseWriter, r *http.Request, mem *pool) ([]byte, error) {
	if err := needJSON(r, "application/json"); err != nil {
		return nil, err
	}
	raw, err := ReadBody(w, &counted{r: http.MaxBytesReader(w, r.Body, int64(g.opts.Limits.BodyBytes)), mem: mem})
	var large *http.MaxBytesError
	var refused *wire.Error
	switch {
	case errors.As(err, &large):
		return nil, wire.Errorf(wire.CodeTooLarge, "the body has more than %d bytes; files go by /v1/files", large.Limit)
	case errors.As(err, &refused):
		return nil, refused
	case err != nil:
		return nil, wire.Errorf(wire.CodeInvalid, "the body broke off")
	}
	return raw, nil
}

// counted counts what is read of a body once it is over smallBytes.
type counted struct {
	r    io.Reader
	mem  *pool
	read int // not yet counted
	long bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.read += n
	c.long = c.long || c.read > smallBytes
	if !c.long {
		return n, err
	}
	if full := c.mem.try(copies * c.read); full != nil {
		return 0, full
	}
	c.read = 0
	return n, err
}

func (g *Gateway) getHosts(w http.ResponseWriter, r *http.Request, p Principal) error {
	hosts, err := p.Backend.Hosts(r.Context())
	if err != nil {
		return err
	}
	g.writeJSON(w, http.StatusOK, wire.HostsResult{Hosts: hosts})
	return nil
}

func (g *Gateway) getSessions(w http.ResponseWriter, r *http.Request, p Principal) error {
	q := r.URL.Query()
	params := wire.SessionsParams{Host: q.Get("host"), Dir: q.Get("dir")}
	if accepts(r) == eventStream {
		return g.streamSessions(w, r, p, params)
	}
	list, err := p.Backend.Sessions(r.Context(), params)
	if err != nil {
		return err
	}
	mem := g.budget.connection(p)
	defer mem.close()
	if err := mem.try(metadataCost * len(list)); err != nil {
		return err
	}
	g.writeJSON(w, http.StatusOK, wire.SessionsResult{Sessions: list})
	return nil
}

func (g *Gateway) getSession(w http.ResponseWriter, r *http.Request, p Principal) error {
	s, err := p.Backend.Session(r.Context(), r.PathValue("session"))
	if err != nil {
		return err
	}
	g.writeJSON(w, http.StatusOK, wire.SessionResult{Session: s})
	return nil
}

func (g *Gateway) getTranscript(w http.ResponseWriter, r *http.Request, p Principal) error {
	mem := g.budget.connection(p)
	defer mem.close()
	f, err := g.open(r.Context(), mem, p.Backend, wire.SubscribeParams{
		Session: r.PathValue("session"), Format: wire.FormatEvents, Snapshot: true, Profile: r.URL.Query().Get("profile"),
	})
	if err != nil {
		return err
	}
	defer f.close()
	transcript, err := f.events.transcript()
	if err != nil {
		return err
	}
	if err := mem.try(copies * len(transcript)); err != nil {
		return err
	}
	g.writeJSON(w, http.StatusOK, wire.TranscriptResult{Session: f.session, Next: f.next, Transcript: transcript})
	return nil
}
