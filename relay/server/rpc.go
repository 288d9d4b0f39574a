package server

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// request is a command on its way from the process that has the viewer to the one
// that has the host.
type request struct {
	Method  string       `json:"method"`
	Command wire.Command `json:"command"`
	// Timeout is how long the other process may take, in milliseconds.
	Timeout int64 `json:"timeout"`
}

// reply is its answer: one member is set.
type reply struct {
	Result jsontext.Value `json:"result,omitempty"`
	Error  *wire.Error    `json:"error,omitempty"`
}

// Times that a command may take when its caller gives no deadline. Spawning and
// configuring wait for agents, which start in seconds, sometimes in a minute.
const (
	callTime     = 30 * time.Second
	slowCallTime = 3 * time.Minute
)

func timeOf(method string) time.Duration {
	switch method {
	case wire.SessionSpawn, wire.SessionConfigure, wire.SessionControl, wire.SessionOp, wire.SessionResume, wire.SessionStop:
		return slowCallTime
	}
	return callTime
}

// rpcSubject is where the process with a connection of a host takes commands.
func rpcSubject(tenant, host, connection string) string {
	return "rpc." + tenant + "." + host + "." + connection
}

// command sends a command to its host, wherever that is connected.
func (s *Server) command(ctx context.Context, t *store.Tenant, host, method string, c wire.Command) (jsontext.Value, error) {
	conn, known, err := t.HostOf(ctx, host)
	if err != nil {
		return nil, err
	}
	if !known || !s.online(conn) {
		return nil, offline(host, conn)
	}
	ctx, cancel := context.WithTimeout(ctx, timeOf(method))
	defer cancel()
	deadline, _ := ctx.Deadline()
	body, err := wire.Marshal(request{Method: method, Command: c, Timeout: time.Until(deadline).Milliseconds()})
	if err != nil {
		return nil, wire.Errorf(wire.CodeInvalid, "params: %v", err)
	}
	nc := s.opt.Store.Conn()
	if int64(len(body)) > nc.MaxPayload() {
		return nil, wire.Errorf(wire.CodeTooLarge, "the command has %d bytes, want at most %d: send long texts as a file", len(body), nc.MaxPayload())
	}
	msg, err := nc.RequestWithContext(ctx, rpcSubject(t.Name(), host, conn.ID), body)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		// Its process died; the directory will say so in a moment.
		return nil, offline(host, conn)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return nil, wire.Errorf(wire.CodeTimeout, "host %s did not answer %s in time: whether it was done is not known", hostName(conn, host), method)
	case err != nil:
		return nil, wire.Errorf(wire.CodeUnknown, "the connection to host %s was lost: whether %s was done is not known", hostName(conn, host), method)
	}
	var r reply
	if err := wire.UnmarshalStream(msg.Data, &r); err != nil {
		return nil, fmt.Errorf("reading an answer to %s: %w", method, err)
	}
	if r.Error != nil {
		return nil, r.Error
	}
	return r.Result, nil
}

func hostName(c store.Connection, id string) string {
	if c.Host.Name != "" {
		return c.Host.Name
	}
	return id
}

// offline is the error for a host that is away. Nothing was sent to it.
func offline(id string, c store.Connection) error {
	c.Host.ID, c.Host.Online = id, false
	seen := "it was never here"
	if c.Host.LastSeen != 0 {
		seen = "it was last seen at " + time.UnixMilli(c.Host.LastSeen).UTC().Format(time.RFC3339)
	}
	return wire.Errorf(wire.CodeHostOffline, "host %s is offline: %s", hostName(c, id), seen).WithData(c.Host)
}

// beat is how often a host's presence is written down, and absent after how long
// without that it counts as away, should its process have died without a word.
const (
	beat   = 10 * time.Second
	absent = 30 * time.Second
)

// online reports whether a host is there by the directory.
func (s *Server) online(c store.Connection) bool {
	return c.Host.Online && time.Since(c.Seen) < absent
}
