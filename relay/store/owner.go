package store

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/wire"
)

// owner is the token that a host belongs to.
type owner struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitzero"`
	Hash  string `json:"hash"`
	Since int64  `json:"since"` // Unix ms
}

// ClaimHost binds a host to the token that is the first to be it, since a tenant's other
// tokens must not pass for it. Another token is refused with wire.CodeForbidden, until
// the one that has the host is revoked or an admin releases the host; that it has
// expired is not enough.
func (t *Tenant) ClaimHost(ctx context.Context, host string, k Token) error {
	if !ValidName(host) {
		return wire.Errorf(wire.CodeInvalid, "host: bad id %q", host)
	}
	value, err := wire.Marshal(owner{ID: k.ID, Name: k.Name, Hash: k.Hash, Since: t.store.opt.Now().UnixMilli()})
	if err != nil {
		return fmt.Errorf("encoding an owner: %w", err)
	}
	key := "o." + host
	for range 3 {
		e, err := t.kv.Get(ctx, key)
		if err == nil {
			var done bool
			if done, err = t.ownedBy(ctx, host, e.Value(), k); done || err != nil {
				return err
			}
			_, err = t.kv.Update(ctx, key, value, e.Revision())
			t.store.wrote("kv_"+t.name, err)
		} else if errors.Is(err, jetstream.ErrKeyNotFound) {
			_, err = t.kv.Create(ctx, key, value)
			t.store.wrote("kv_"+t.name, err)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, jetstream.ErrKeyExists) && !isWrongSequence(err):
			return fmt.Errorf("binding host %s: %w", host, err)
		}
		// Another one was faster: look who.
	}
	return wire.Errorf(wire.CodeBusy, "host %s is being bound by others", host)
}

// ownedBy reports whether a host is k's by what is stored. The error refuses k.
func (t *Tenant) ownedBy(ctx context.Context, host string, stored []byte, k Token) (bool, error) {
	var has owner
	if err := json.Unmarshal(stored, &has); err != nil {
		return false, fmt.Errorf("reading the owner of host %s: %w", host, err)
	}
	if has.Hash == k.Hash {
		return true, nil
	}
	old, _, err := t.store.TokenByHash(ctx, has.Hash)
	if err != nil {
		return false, err
	}
	if old.ID != "" && old.Revoked == 0 {
		return false, wire.Errorf(wire.CodeForbidden,
			"host %s belongs to the token %s (%s), which was the first to be it: use that token, or let an admin release the host with: agenthost token release %s",
			host, has.ID, has.Name, host)
	}
	return false, nil
}

// ReleaseHost lets any token of the tenant be a host again. Who is it now stays it until
// another one comes.
func (t *Tenant) ReleaseHost(ctx context.Context, host string) error {
	if !ValidName(host) {
		return wire.Errorf(wire.CodeInvalid, "host: bad id %q", host)
	}
	_, err := t.kv.Get(ctx, "o."+host)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return wire.Errorf(wire.CodeNotFound, "no token has a host %q", host)
	}
	if err == nil {
		err = t.kv.Purge(ctx, "o."+host)
	}
	if err != nil {
		return fmt.Errorf("releasing host %s: %w", host, err)
	}
	return nil
}
