package uplink

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// refs remembers which files of the relay are here already, and which of ours it has.
type refs struct {
	mu sync.Mutex
	// local maps refs of the relay to refs of ours, given has refs of ours that the
	// relay has. guarded by mu
	local map[string]string
	given map[string]bool
}

// maxRefs bounds the memory of refs. What is forgotten is fetched or offered again.
const maxRefs = 10_000

func (r *refs) get(ref string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.local[ref]
	return l, ok
}

func (r *refs) put(ref, local string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.local == nil || len(r.local) >= maxRefs {
		r.local = map[string]string{}
	}
	r.local[ref] = local
}

// first reports whether a ref of ours is seen for the first time.
func (r *refs) first(ref string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given[ref] {
		return false
	}
	if r.given == nil || len(r.given) >= maxRefs {
		r.given = map[string]bool{}
	}
	r.given[ref] = true
	return true
}

func (r *refs) failed(ref string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.given, ref)
}

// fetchFiles brings the files that a message names here, and names them as ours.
func (l *link) fetchFiles(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	files, ok := l.u.opt.Source.(Files)
	if !ok || method != wire.SessionSend && method != wire.SessionSpawn {
		return params, nil
	}
	var all map[string]jsontext.Value
	if err := wire.Unmarshal(params, &all); err != nil {
		return nil, err
	}
	if prompt := all["prompt"]; method == wire.SessionSpawn && prompt.Kind() == '{' {
		p, err := l.fetchFiles(ctx, caller, wire.SessionSend, prompt)
		if err != nil {
			return nil, err
		}
		all["prompt"] = p
		return json.Marshal(all, json.Deterministic(true))
	}
	if all["files"].Kind() != '[' {
		return params, nil
	}
	var list []wire.FileRef
	if err := wire.Unmarshal(all["files"], &list); err != nil {
		return nil, err
	}
	for i := range list {
		local, err := l.fetch(ctx, files, caller, list[i])
		if err != nil {
			return nil, err
		}
		list[i].Ref = local
	}
	raw, err := wire.Marshal(list)
	if err != nil {
		return nil, wire.Errorf(wire.CodeInvalid, "files: %v", err)
	}
	all["files"] = raw
	return json.Marshal(all, json.Deterministic(true))
}

// fetch brings one file here.
func (l *link) fetch(ctx context.Context, files Files, caller wire.Caller, f wire.FileRef) (local string, err error) {
	if local, ok := l.u.fetched.get(f.Ref); ok {
		if _, err := files.Stat(ctx, local); err == nil {
			return local, nil
		}
	}
	if u, err := files.Stat(ctx, f.Ref); err == nil && u.Offset == u.Size {
		return f.Ref, nil // one of ours
	}
	resp, err := l.http(ctx, http.MethodGet, "/"+url.PathEscape(f.Ref), nil, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	size, err := strconv.ParseInt(resp.Header.Get("Upload-Length"), 10, 64)
	if err != nil {
		return "", fmt.Errorf("fetching file %s: the relay gives no size", f.Ref)
	}
	u, err := files.Create(ctx, caller, wire.UploadParams{Name: f.Name, MimeType: f.MimeType, Size: size})
	if err != nil {
		return "", err
	}
	if u, err = files.Append(ctx, u.Ref, 0, resp.Body); err != nil {
		return "", err
	}
	if u.Offset != size {
		return "", wire.Errorf(wire.CodeUnknown, "file %s broke off at %d of %d bytes: send the message again", f.Ref, u.Offset, size)
	}
	l.u.fetched.put(f.Ref, u.Ref)
	return u.Ref, nil
}

// http makes a request to the relay's files of hosts. An error of the relay is a
// *wire.Error.
func (l *link) http(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.base+wire.HostFilesPath+path, body)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := l.web.Do(req)
	if err != nil {
		return nil, wire.Errorf(wire.CodeUnknown, "asking the relay for a file: the connection failed")
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	if e := peer.Refusal(resp); e != nil {
		return nil, e
	}
	return nil, wire.Errorf(wire.CodeInternal, "the relay answers %s", resp.Status)
}

// offer gives the relay the files that an envelope names, beside the stream, which
// does not wait for them.
func (l *link) offer(session string, line []byte) {
	files, ok := l.u.opt.Source.(Files)
	if !ok {
		return
	}
	switch contract.PeekType(line) {
	case contract.TypeFile:
	case contract.TypeText:
		if !bytes.Contains(line, []byte(`"refs"`)) {
			return
		}
	default:
		return
	}
	e, err := contract.Decode(line)
	if err != nil {
		return
	}
	for _, ref := range refsOf(e) {
		if !l.u.fetched.first(ref) {
			continue
		}
		l.wg.Go(func() {
			if err := l.give(l.ctx, files, ref); err != nil {
				l.u.fetched.failed(ref)
				l.u.log.Warn("giving the relay a file", "session", session, "ref", ref, "err", err)
			}
		})
	}
}

// refsOf are the files that an envelope names.
func refsOf(e contract.Envelope) []string {
	switch ev := e.Event.(type) {
	case contract.File:
		return []string{ev.Ref}
	case contract.Text:
		var out []string
		for _, r := range ev.Refs {
			out = append(out, r.Ref)
		}
		return out
	}
	return nil
}

// giveTime bounds giving one file.
const giveTime = 10 * time.Minute

// give uploads a file under the name it has here, from where an earlier try ended.
func (l *link) give(ctx context.Context, files Files, ref string) error {
	ctx, cancel := context.WithTimeout(ctx, giveTime)
	defer cancel()
	f, u, err := files.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := wire.Marshal(wire.UploadParams{Name: u.Name, MimeType: u.MimeType, Size: u.Size, SHA256: u.SHA256, Ref: ref})
	if err != nil {
		return err
	}
	var at int64
	resp, err := l.http(ctx, http.MethodPost, "", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(string(p)))
	switch {
	case errors.Is(err, &wire.Error{Code: wire.CodeConflict}):
		if resp, err = l.http(ctx, http.MethodHead, "/"+url.PathEscape(ref), nil, nil); err != nil {
			return err
		}
		if at, err = strconv.ParseInt(resp.Header.Get("Upload-Offset"), 10, 64); err != nil {
			return fmt.Errorf("the relay does not say how much it has: %w", err)
		}
	case err != nil:
		return err
	}
	_ = resp.Body.Close()
	if at >= u.Size {
		return nil
	}
	if _, err := io.CopyN(io.Discard, f, at); err != nil {
		return fmt.Errorf("reading the file: %w", err)
	}
	resp, err = l.http(ctx, http.MethodPatch, "/"+url.PathEscape(ref), http.Header{"Upload-Offset": {strconv.FormatInt(at, 10)}}, io.LimitReader(f, u.Size-at))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
