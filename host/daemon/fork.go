package daemon

import (
	"context"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

// forkOp branches a session off and begins the new one: with the configuration of
// the old one, in its directory.
func (d *Daemon) forkOp(ctx context.Context, caller wire.Caller, p wire.OpParams) (wire.OpResult, error) {
	var result wire.OpResult
	var from *entry
	err := d.retry(ctx, caller, p.Session, func(e *entry, run *host.Session) error {
		from = e
		raw, err := run.Op(ctx, p.Name, p.Params)
		result.Result = raw
		return err
	})
	if err != nil {
		return wire.OpResult{}, err
	}
	b, err := host.ReadBranch(result.Result)
	if err != nil {
		return wire.OpResult{}, err
	}
	sp := from.request(caller, want{}).Spawn
	sp.Resume, sp.Fork, sp.ForkAt, sp.Env = "", b.Fork, b.ForkAt, from.given()
	e, _, err := d.begun(ctx, caller, cuid2.Generate(), sp, &b)
	if err != nil {
		return wire.OpResult{}, err
	}
	s := e.seen(ctx).Session
	result.Session = &s
	return result, nil
}
