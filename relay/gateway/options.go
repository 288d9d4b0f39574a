package gateway

import (
	"log/slog"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// Options are what a Gateway needs. Auth must be set.
type Options struct {
	Auth Authenticator
	// Log takes refusals and life cycle; nil discards. Never tokens or texts.
	Log *slog.Logger
	// Server is told to viewers.
	Server wire.Program

	// Hosts are names that requests may give as Host, with or without a port,
	// besides localhost and loopback addresses: what a reverse proxy passes on.
	Hosts []string
	// Origins are pages that may use this from a browser, like
	// https://app.example, besides those that it serves itself.
	Origins []string
	// HostSetting and OriginSetting say how to allow one more, in the answer to
	// what was refused: "--allow-host".
	HostSetting, OriginSetting string

	// Now is the clock on the wall, by which tokens end; time.Now when nil.
	Now func() time.Time

	Limits Limits
}

// Limits are bounds per token unless they say otherwise. The zero value has the
// defaults. A Caller that is Local has none of rate and of memory.
type Limits struct {
	// Connections are WebSockets, streams and files on their way at once: 64. One more is
	// wire.CodeRateLimited.
	Connections int
	// Subscriptions are those of one WebSocket: 64.
	Subscriptions int
	// ConnectionBytes, TokenBytes and TenantBytes bound what is in memory for a
	// connection or request, for all of a token and for all of a Backend, because it
	// was read for them and they have not taken it, or came from them and is not done
	// with: 128 MiB, 256 MiB and 1 GiB. A
	// stream waits for room; a subscription, a snapshot or a page that would be over
	// is wire.CodeRateLimited.
	ConnectionBytes, TokenBytes, TenantBytes int
	// Rate is requests and calls per second, Burst how many at once: 50 and 200.
	Rate, Burst int
	// BodyBytes is the longest body and the longest message of a viewer: 8 MiB.
	// Files have their own.
	BodyBytes int
	// PageBytes is how much a page has before it ends: 4 MiB. It has at least one
	// envelope.
	PageBytes int
	// Call bounds a command: 2 min, then wire.CodeTimeout.
	Call time.Duration
	// Heartbeat is between comments of an idle event stream: 15 s.
	Heartbeat time.Duration
	// Recheck is how often the token of an open connection is looked at again:
	// 30 s. A revoked one ends it.
	Recheck time.Duration
	// Write is how long a stream over HTTP waits for a reader that takes nothing, and
	// an upload for 64 KiB: 2 min.
	Write time.Duration
	// Settle is how long a snapshot waits for envelopes that the metadata has and
	// the stream does not give, as a relay may lag behind its host: 1 s.
	Settle time.Duration
}

func (o Options) withDefaults() Options {
	ints := map[*int]int{
		&o.Limits.Connections: 64, &o.Limits.Subscriptions: 64, &o.Limits.Rate: 50, &o.Limits.Burst: 200,
		&o.Limits.BodyBytes: 8 << 20, &o.Limits.PageBytes: 4 << 20,
		&o.Limits.ConnectionBytes: 128 << 20, &o.Limits.TokenBytes: 256 << 20, &o.Limits.TenantBytes: 1 << 30,
	}
	for v, d := range ints {
		if *v <= 0 {
			*v = d
		}
	}
	durations := map[*time.Duration]time.Duration{
		&o.Limits.Call: 2 * time.Minute, &o.Limits.Heartbeat: 15 * time.Second, &o.Limits.Recheck: 30 * time.Second,
		&o.Limits.Write: 2 * time.Minute, &o.Limits.Settle: time.Second,
	}
	for v, d := range durations {
		if *v <= 0 {
			*v = d
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HostSetting == "" {
		o.HostSetting = "the setting of allowed hosts"
	}
	if o.OriginSetting == "" {
		o.OriginSetting = "the setting of allowed origins"
	}
	return o
}
