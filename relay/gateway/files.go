package gateway

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/agenthost/agenthost/relay/wire"
)

// files is the part of a backend that keeps files.
func files(p Principal) (Files, error) {
	if f, ok := p.Backend.(Files); ok {
		return f, nil
	}
	return nil, wire.Errorf(wire.CodeUnsupported, "files are not kept here")
}

// fileRef is the ref in the path. It is letters and digits only, so that it can never
// be a path of its own.
func fileRef(r *http.Request) (string, error) {
	ref := r.PathValue("ref")
	ok := len(ref) > 0 && len(ref) <= 64
	for _, c := range []byte(ref) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
	}
	if !ok {
		return "", wire.Errorf(wire.CodeNotFound, "no file %q", clip(ref))
	}
	return ref, nil
}

// fileOf is the part of a backend that keeps files, and the ref in the path.
func fileOf(r *http.Request, p Principal) (Files, string, error) {
	store, err := files(p)
	if err != nil {
		return nil, "", err
	}
	ref, err := fileRef(r)
	return store, ref, err
}

func (g *Gateway) createFile(w http.ResponseWriter, r *http.Request, p Principal) error {
	store, err := files(p)
	if err != nil {
		return err
	}
	mem := g.budget.connection(p)
	defer mem.close()
	raw, err := g.body(w, r, mem)
	if err != nil {
		return err
	}
	var params wire.UploadParams
	if err := wire.Unmarshal(raw, &params); err != nil {
		return err
	}
	u, err := store.Create(r.Context(), p.Caller, params)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/files/"+u.Ref)
	g.writeJSON(w, http.StatusCreated, u)
	return nil
}

func (g *Gateway) statFile(w http.ResponseWriter, r *http.Request, p Principal) error {
	store, ref, err := fileOf(r, p)
	if err != nil {
		return err
	}
	u, err := store.Stat(r.Context(), ref)
	if err != nil {
		return err
	}
	w.Header().Set("Upload-Offset", strconv.FormatInt(u.Offset, 10))
	w.Header().Set("Upload-Length", strconv.FormatInt(u.Size, 10))
	w.WriteHeader(http.StatusOK)
	return nil
}

// transferCost is what a file counts for while it comes or goes.
const transferCost = 512 << 10

// transfer counts in a file that comes or goes, which may take its time, as a connection.
func (g *Gateway) transfer(p Principal) (leave func(), err error) {
	left, err := g.limit.connect(p.Caller)
	if err != nil {
		return nil, err
	}
	mem := g.budget.connection(p)
	if err := mem.keep(transferCost); err != nil {
		mem.close()
		left()
		return nil, err
	}
	return func() { mem.close(); left() }, nil
}

// appendFile takes a piece. It may be cut off: what came stays, and HEAD tells how
// much that is.
func (g *Gateway) appendFile(w http.ResponseWriter, r *http.Request, p Principal) error {
	store, ref, err := fileOf(r, p)
	if err != nil {
		return err
	}
	if err := needJSON(r, "application/octet-stream"); err != nil {
		return err
	}
	offset, err := strconv.ParseInt(r.Header.Get("Upload-Offset"), 10, 64)
	if err != nil || offset < 0 {
		return wire.Errorf(wire.CodeInvalid, "Upload-Offset: want how much of the file is there already, got %q", clip(r.Header.Get("Upload-Offset")))
	}
	leave, err := g.transfer(p)
	if err != nil {
		return err
	}
	defer leave()
	u, err := store.Append(r.Context(), ref, offset, Paced(w, r.Body, g.opts.Limits.Write))
	if err != nil {
		return err
	}
	w.Header().Set("Upload-Offset", strconv.FormatInt(u.Offset, 10))
	g.writeJSON(w, http.StatusOK, u)
	return nil
}

// readFile sends a file so that no browser runs it: it came from somebody.
func (g *Gateway) readFile(w http.ResponseWriter, r *http.Request, p Principal) error {
	store, ref, err := fileOf(r, p)
	if err != nil {
		return err
	}
	leave, err := g.transfer(p)
	if err != nil {
		return err
	}
	defer leave()
	body, u, err := store.Open(r.Context(), ref)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was only read
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(u.Size, 10))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": u.Name}); d != "" {
		h.Set("Content-Disposition", d)
	} else {
		h.Set("Content-Disposition", "attachment")
	}
	out := newPatient(w, g.opts.Limits.Write)
	if _, err := io.Copy(out, body); err != nil && !errors.Is(err, r.Context().Err()) {
		g.opts.Log.Debug("file broke off", "ref", ref, "err", err)
	}
	return nil
}
