package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/wire"
)

// Keep stores a command for a host that is away. They are handed out in the order in
// which they came. CodeTooLarge says that no more fits.
func (t *Tenant) Keep(ctx context.Context, host string, command []byte) error {
	if !ValidName(host) {
		return wire.Errorf(wire.CodeInvalid, "host: bad id %q", host)
	}
	_, err := t.store.js.Publish(ctx, "in."+t.name+"."+host, command)
	if !isFull(err) { // of messages, which is no fault
		t.store.wrote("in_"+t.name, err)
	}
	if isFull(err) {
		return wire.Errorf(wire.CodeTooLarge, "too much waits for absent hosts already")
	}
	if err != nil {
		return fmt.Errorf("keeping a message for host %s: %w", host, err)
	}
	return nil
}

// Kept hands what waits for a host to deliver, one after the other. A command is
// forgotten when deliver returned nil; an error ends the call, and the command is
// handed out again next time.
func (t *Tenant) Kept(ctx context.Context, host string, deliver func(command []byte) error) error {
	for {
		msg, err := t.inbox.GetMsg(ctx, 1, jetstream.WithGetMsgSubject("in."+t.name+"."+host))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking for messages to host %s: %w", host, err)
		}
		if err := deliver(msg.Data); err != nil {
			return err
		}
		if err := t.inbox.DeleteMsg(ctx, msg.Sequence); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("forgetting a message to host %s: %w", host, err)
		}
	}
}
