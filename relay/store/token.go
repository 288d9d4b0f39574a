package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/relay/wire"
)

// Token is what is known of a token. Its secret is not: only a hash of it is stored.
type Token struct {
	ID     string     `json:"id"`
	Name   string     `json:"name,omitzero"`
	Tenant string     `json:"tenant"`
	Scope  wire.Scope `json:"scope"`
	// Created, Expires and Revoked are Unix ms; 0 is never.
	Created int64 `json:"created"`
	Expires int64 `json:"expires,omitzero"`
	Revoked int64 `json:"revoked,omitzero"`
	// Hash finds it again. It is set by TokenOf.
	Hash string `json:"-"`
}

// Counts reports whether the token may be used at a time.
func (k Token) Counts(now time.Time) bool {
	return k.Revoked == 0 && (k.Expires == 0 || now.UnixMilli() < k.Expires)
}

// secretPrefix tells people and scanners for leaked secrets what it is.
const secretPrefix = "aht_"

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// check reports what is wrong with a token that is to be made.
func (k Token) check() error {
	if !ValidName(k.Tenant) {
		return wire.Errorf(wire.CodeInvalid, "tenant: want 1 to 64 letters, digits, - and _, got %q", k.Tenant)
	}
	if !slices.Contains(wire.Scopes(), k.Scope) {
		return wire.Errorf(wire.CodeInvalid, "scope: want one of %v, got %q", wire.Scopes(), k.Scope)
	}
	if len(k.Name) > 100 {
		return wire.Errorf(wire.CodeInvalid, "name: want at most 100 bytes, got %d", len(k.Name))
	}
	return nil
}

// CreateToken makes a token of Tenant, Scope, Name and Expires of k and returns its
// secret, which cannot be had again.
func (s *Store) CreateToken(ctx context.Context, k Token) (secret string, _ Token, err error) {
	if err := k.check(); err != nil {
		return "", Token{}, err
	}
	secret = secretPrefix + rand.Text()
	k.ID, k.Created, k.Revoked = "tok_"+cuid2.Generate(), s.opt.Now().UnixMilli(), 0
	return secret, k, s.putToken(ctx, hashOf(secret), k)
}

// EnsureToken makes a token with a secret that is known already, unless it is there:
// for the first token of a relay, which its operator chose.
func (s *Store) EnsureToken(ctx context.Context, secret string, k Token) error {
	if err := k.check(); err != nil {
		return err
	}
	if len(secret) < 20 {
		return wire.Errorf(wire.CodeInvalid, "token: want at least 20 characters, got %d", len(secret))
	}
	k.ID, k.Created = "tok_"+cuid2.Generate(), s.opt.Now().UnixMilli()
	if err := s.putToken(ctx, hashOf(secret), k); !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	return nil
}

func (s *Store) putToken(ctx context.Context, hash string, k Token) error {
	value, err := wire.Marshal(k)
	if err != nil {
		return wire.Errorf(wire.CodeInvalid, "name: want text, got %q", k.Name)
	}
	if _, err := s.auth.Create(ctx, "t."+hash, value); err != nil {
		return fmt.Errorf("storing a token: %w", err)
	}
	return nil
}

// TokenOf finds the token with a secret; false when there is none that counts now.
func (s *Store) TokenOf(ctx context.Context, secret string) (Token, bool, error) {
	return s.TokenByHash(ctx, hashOf(secret))
}

// TokenByHash is TokenOf for who has looked it up before.
func (s *Store) TokenByHash(ctx context.Context, hash string) (Token, bool, error) {
	e, err := s.auth.Get(ctx, "t."+hash)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Token{}, false, nil
	}
	var k Token
	if err == nil {
		err = json.Unmarshal(e.Value(), &k)
	}
	if err != nil {
		return Token{}, false, fmt.Errorf("reading a token: %w", err)
	}
	k.Hash = hash
	return k, k.Counts(s.opt.Now()), nil
}

// Tokens lists a tenant's tokens, of all tenants when it is empty, the oldest first.
func (s *Store) Tokens(ctx context.Context, tenant string) ([]Token, error) {
	var out []Token
	err := s.eachToken(ctx, func(_ jetstream.KeyValueEntry, k Token) error {
		if tenant == "" || tenant == k.Tenant {
			out = append(out, k)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Token) int {
		return strings.Compare(fmt.Sprintf("%020d%s", a.Created, a.ID), fmt.Sprintf("%020d%s", b.Created, b.ID))
	})
	return out, err
}

func (s *Store) eachToken(ctx context.Context, f func(jetstream.KeyValueEntry, Token) error) error {
	keys, err := s.auth.ListKeysFiltered(ctx, "t.*")
	if err != nil {
		return fmt.Errorf("listing tokens: %w", err)
	}
	defer func() { _ = keys.Stop() }()
	for key := range keys.Keys() {
		e, err := s.auth.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		var k Token
		if err == nil {
			err = json.Unmarshal(e.Value(), &k)
		}
		if err != nil {
			return fmt.Errorf("reading a token: %w", err)
		}
		if err := f(e, k); err != nil {
			return err
		}
	}
	return nil
}

// RevokeToken ends a token of a tenant, of any when tenant is empty.
func (s *Store) RevokeToken(ctx context.Context, tenant, id string) error {
	found := false
	err := s.eachToken(ctx, func(e jetstream.KeyValueEntry, k Token) error {
		if k.ID != id || tenant != "" && tenant != k.Tenant {
			return nil
		}
		found = true
		if k.Revoked != 0 {
			return nil
		}
		k.Revoked = s.opt.Now().UnixMilli()
		value, err := wire.Marshal(k)
		if err != nil {
			return fmt.Errorf("encoding a token: %w", err)
		}
		if _, err := s.auth.Update(ctx, e.Key(), value, e.Revision()); err != nil {
			return fmt.Errorf("revoking token %s: %w", id, err)
		}
		return nil
	})
	if err == nil && !found {
		err = wire.Errorf(wire.CodeNotFound, "no token %q", id)
	}
	return err
}

// pairing is what a code stands for.
type pairing struct {
	Token   Token `json:"token"`
	Made    int64 `json:"made"`    // Unix ms
	Expires int64 `json:"expires"` // Unix ms
}

// clockSkew is how much the clocks of a relay's processes may differ.
const clockSkew = time.Minute

// codeAlphabet has no letters that are taken for others.
const codeAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// NewCode makes a code that is redeemed once, within ttl, for a token of Tenant,
// Scope, Name and Expires of k. It is 10 letters, 50 bits: tries must be limited.
func (s *Store) NewCode(ctx context.Context, k Token, ttl time.Duration) (code string, err error) {
	if err := k.check(); err != nil {
		return "", err
	}
	raw := make([]byte, 10)
	_, _ = rand.Read(raw) // never fails
	for i, b := range raw {
		raw[i] = codeAlphabet[int(b)%len(codeAlphabet)]
	}
	now := s.opt.Now()
	value, err := wire.Marshal(pairing{Token: k, Made: now.UnixMilli(), Expires: now.Add(ttl).UnixMilli()})
	if err != nil {
		return "", wire.Errorf(wire.CodeInvalid, "name: want text, got %q", k.Name)
	}
	if _, err := s.auth.Create(ctx, "p."+hashOf(string(raw)), value); err != nil {
		return "", fmt.Errorf("storing a pairing code: %w", err)
	}
	return string(raw[:5]) + "-" + string(raw[5:]), nil
}

// RedeemCode makes the token that a code stands for. A code that is wrong, expired or
// used gives CodeUnauthorized, each with the same words.
func (s *Store) RedeemCode(ctx context.Context, code, name string) (secret string, _ Token, err error) {
	refused := wire.Errorf(wire.CodeUnauthorized, "the pairing code is wrong, expired or used: make another one")
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	key := "p." + hashOf(code)
	e, err := s.auth.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", Token{}, refused
	}
	var p pairing
	if err == nil {
		err = json.Unmarshal(e.Value(), &p)
	}
	if err != nil {
		return "", Token{}, fmt.Errorf("reading a pairing code: %w", err)
	}
	// Who deletes this revision has it.
	if err := s.auth.Purge(ctx, key, jetstream.LastRevision(e.Revision())); err != nil {
		if isWrongSequence(err) || errors.Is(err, jetstream.ErrKeyExists) {
			return "", Token{}, refused
		}
		return "", Token{}, fmt.Errorf("using up a pairing code: %w", err)
	}
	now := s.opt.Now()
	// Before it was made: the clock was set back, and would let it live for longer.
	if now.UnixMilli() >= p.Expires || now.Add(clockSkew).UnixMilli() < p.Made {
		return "", Token{}, refused
	}
	if name != "" {
		p.Token.Name = name
	}
	return s.CreateToken(ctx, p.Token)
}
