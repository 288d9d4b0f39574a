package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// bodyBytes is the longest body of a request about tokens.
const bodyBytes = 64 << 10

func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// refuse answers with an error, and logs what is not the caller's fault.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := wire.AsError(err)
	switch {
	case r.Context().Err() != nil:
		s.log.Debug("a request was given up", "path", r.URL.Path, "err", err)
	case e.Code == wire.CodeInternal:
		s.log.Error("internal error", "path", r.URL.Path, "err", err)
	default:
		s.log.Info("refused", "path", r.URL.Path, "code", e.Code, "from", s.opt.ClientIP(r))
	}
	s.metrics.refused.WithLabelValues(string(e.Code)).Inc()
	if e.Code == wire.CodeUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="agenthost"`)
	}
	s.answer(w, e.Code.HTTPStatus(), e)
}

func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	body, err := wire.Marshal(v)
	if err != nil {
		s.log.Error("encoding an answer", "err", err)
		status, body = http.StatusInternalServerError, []byte(`{"code":"internal","message":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = gateway.Patient(w, s.opt.Patience).Write(body)
}

// body reads a request's JSON. A form of another site cannot send that type, so it is
// asked for.
func body(w http.ResponseWriter, r *http.Request, v any) error {
	if typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || typ != "application/json" {
		return wire.Errorf(wire.CodeInvalid, "Content-Type: want application/json, got %q", r.Header.Get("Content-Type"))
	}
	data, err := gateway.ReadBody(w, http.MaxBytesReader(w, r.Body, bodyBytes))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return wire.Errorf(wire.CodeTooLarge, "the body has more than %d bytes", tooLong.Limit)
	}
	if err != nil {
		return wire.Errorf(wire.CodeInvalid, "the body broke off")
	}
	return wire.Unmarshal(data, v)
}

// newToken is a request for a token or a pairing code.
type newToken struct {
	Tenant string     `json:"tenant,omitzero"`
	Scope  wire.Scope `json:"scope"`
	Name   string     `json:"name,omitzero"`
	// TTLMS is how long the token counts, in milliseconds; 0 is for ever.
	TTLMS int64 `json:"ttlMs,omitzero"`
	// CodeTTLMS is how long a pairing code counts; 0 is 5 minutes.
	CodeTTLMS int64 `json:"codeTtlMs,omitzero"`
}

// maxCodeTTL bounds how long a pairing code counts: it is short, and read aloud.
const (
	codeTTL    = 5 * time.Minute
	maxCodeTTL = time.Hour
)

// asked is the token that an admin asks for, in a tenant that it may.
func (s *Server) asked(w http.ResponseWriter, r *http.Request) (store.Token, newToken, error) {
	k, _, err := s.authenticate(r, wire.ScopeAdmin)
	if err != nil {
		return k, newToken{}, err
	}
	var p newToken
	if err := body(w, r, &p); err != nil {
		return k, p, err
	}
	if p.Tenant == "" {
		p.Tenant = k.Tenant
	}
	if k.Tenant != Operator && p.Tenant != k.Tenant {
		return k, p, wire.Errorf(wire.CodeForbidden, "the token is one of tenant %s", k.Tenant)
	}
	if p.Tenant == Operator && p.Scope != wire.ScopeAdmin {
		return k, p, wire.Errorf(wire.CodeInvalid, "tenant: name one; with the scope %s a token of the operator could do nothing", p.Scope)
	}
	if p.TTLMS < 0 || p.CodeTTLMS < 0 || p.CodeTTLMS > maxCodeTTL.Milliseconds() {
		return k, p, wire.Errorf(wire.CodeInvalid, "ttlMs: want 0 or more; codeTtlMs: want 0 to %d", maxCodeTTL.Milliseconds())
	}
	want := store.Token{Tenant: p.Tenant, Scope: p.Scope, Name: p.Name}
	if p.TTLMS > 0 {
		want.Expires = s.opt.Now().UnixMilli() + p.TTLMS
	}
	return want, p, nil
}

// made is the answer that holds a secret.
type made struct {
	Token  store.Token `json:"token"`
	Secret string      `json:"secret"`
}

func (s *Server) createToken(w http.ResponseWriter, r *http.Request) {
	want, _, err := s.asked(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	secret, k, err := s.opt.Store.CreateToken(r.Context(), want)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.log.Info("token made", "tenant", k.Tenant, "token", k.ID, "scope", k.Scope)
	s.answer(w, http.StatusCreated, made{k, secret})
}

func (s *Server) createPairing(w http.ResponseWriter, r *http.Request) {
	want, p, err := s.asked(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	ttl := codeTTL
	if p.CodeTTLMS > 0 {
		ttl = time.Duration(p.CodeTTLMS) * time.Millisecond
	}
	code, err := s.opt.Store.NewCode(r.Context(), want, ttl)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.log.Info("pairing code made", "tenant", want.Tenant, "scope", want.Scope)
	s.answer(w, http.StatusCreated, map[string]any{"code": code, "expires": s.opt.Now().Add(ttl).UnixMilli()})
}

// pair gives a token for a code. It needs no token, so tries are limited.
func (s *Server) pair(w http.ResponseWriter, r *http.Request) {
	if wait, ok := s.pairing.take(s.opt.ClientIP(r), time.Now()); !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		s.refuse(w, r, wire.Errorf(wire.CodeRateLimited, "too many tries: wait %v", wait.Round(time.Second)).WithData(wire.RetryAfter{MS: wait.Milliseconds()}))
		return
	}
	var p struct {
		Code string `json:"code"`
		Name string `json:"name,omitzero"`
	}
	if err := body(w, r, &p); err != nil {
		s.refuse(w, r, err)
		return
	}
	secret, k, err := s.opt.Store.RedeemCode(r.Context(), p.Code, p.Name)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.log.Info("paired", "tenant", k.Tenant, "token", k.ID, "scope", k.Scope)
	s.answer(w, http.StatusCreated, made{k, secret})
}

func (s *Server) listTokens(w http.ResponseWriter, r *http.Request) {
	k, _, err := s.authenticate(r, wire.ScopeAdmin)
	var list []store.Token
	if err == nil {
		list, err = s.opt.Store.Tokens(r.Context(), ownTenant(k))
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if list == nil {
		list = []store.Token{}
	}
	s.answer(w, http.StatusOK, map[string]any{"tokens": list})
}

// ownTenant is the tenant whose tokens an admin sees, empty for all.
func ownTenant(k store.Token) string {
	if k.Tenant == Operator {
		return ""
	}
	return k.Tenant
}

func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) {
	k, _, err := s.authenticate(r, wire.ScopeAdmin)
	if err == nil {
		err = s.opt.Store.RevokeToken(r.Context(), ownTenant(k), r.PathValue("id"))
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.log.Info("token revoked", "tenant", k.Tenant, "token", r.PathValue("id"), "by", k.ID)
	w.WriteHeader(http.StatusNoContent)
}

// releaseHost lets another token be a host. The operator names the tenant.
func (s *Server) releaseHost(w http.ResponseWriter, r *http.Request) {
	host := r.PathValue("host")
	k, t, err := s.authenticate(r, wire.ScopeAdmin)
	if tenant := r.URL.Query().Get("tenant"); err == nil && tenant != "" && tenant != k.Tenant {
		if k.Tenant != Operator {
			err = wire.Errorf(wire.CodeForbidden, "the token is one of tenant %s", k.Tenant)
		} else if !store.ValidName(tenant) {
			err = wire.Errorf(wire.CodeInvalid, "tenant: want 1 to 64 letters, digits, - and _, got %q", tenant)
		} else {
			t, err = s.opt.Store.Tenant(r.Context(), tenant)
		}
	}
	if err == nil {
		err = t.ReleaseHost(r.Context(), host)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.log.Info("host released", "tenant", t.Name(), "host", host, "by", k.ID)
	w.WriteHeader(http.StatusNoContent)
}

// Files of hosts.

func (s *Server) createHostFile(w http.ResponseWriter, r *http.Request) {
	_, t, err := s.authenticate(r, wire.ScopeHost)
	var p wire.UploadParams
	if err == nil {
		err = body(w, r, &p)
	}
	var u wire.Upload
	if err == nil {
		u, err = t.CreateFile(r.Context(), p)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answer(w, http.StatusCreated, u)
}

func (s *Server) patchHostFile(w http.ResponseWriter, r *http.Request) {
	_, t, err := s.authenticate(r, wire.ScopeHost)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	offset, err := strconv.ParseInt(r.Header.Get("Upload-Offset"), 10, 64)
	if err != nil {
		s.refuse(w, r, wire.Errorf(wire.CodeInvalid, "Upload-Offset: want where the upload ends, got %q", r.Header.Get("Upload-Offset")))
		return
	}
	u, err := t.AppendFile(r.Context(), r.PathValue("ref"), offset, gateway.Paced(w, http.MaxBytesReader(w, r.Body, store.MaxFile), s.opt.Patience))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answer(w, http.StatusOK, u)
}

// getHostFile also serves HEAD.
func (s *Server) getHostFile(w http.ResponseWriter, r *http.Request) {
	_, t, err := s.authenticate(r, wire.ScopeHost)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	u, err := t.StatFile(r.Context(), r.PathValue("ref"))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Upload-Offset", strconv.FormatInt(u.Offset, 10))
	w.Header().Set("Upload-Length", strconv.FormatInt(u.Size, 10))
	if r.Method == http.MethodHead {
		return
	}
	if err := s.sendFile(r.Context(), w, t, u); err != nil {
		s.refuse(w, r, err)
	}
}

// sendFile answers with a file. Once bytes are sent an error breaks the connection,
// so that half a file is not taken for a whole one.
func (s *Server) sendFile(ctx context.Context, w http.ResponseWriter, t *store.Tenant, u wire.Upload) error {
	f, u, err := t.OpenFile(ctx, u.Ref)
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": u.Name}))
	h.Set("Content-Length", strconv.FormatInt(u.Size, 10))
	if _, err := io.Copy(gateway.Patient(w, s.opt.Patience), f); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
