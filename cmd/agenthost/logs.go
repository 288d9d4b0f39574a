package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

func newLogs(st *streams) *cobra.Command {
	f := &viewFlags{}
	var follow bool
	cmd, r := viewerCommand("logs SESSION", "Print what a session said", "  agenthost logs last\n  agenthost logs last -f --output events",
		cobra.ExactArgs(1), nil)
	cmd.Long += `

Without a daemon it reads what is in the state directory. --follow ends then when no
process runs the session any more.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		l, err := r.dial(ctx, cfg)
		if errors.Is(err, errNoDaemon) {
			return remoteProblem(f.stored(ctx, st, cfg, args[0], follow))
		}
		if err != nil {
			return err
		}
		defer l.Close()
		v, err := f.viewing(ctx, st, l, args[0])
		if err != nil {
			return remoteProblem(err)
		}
		if !follow {
			v.until, v.bounded = v.session.End, true
		}
		return remoteProblem(v.left(ctx, v.watch(ctx, nil)))
	}
	f.register(cmd, 0, "")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	return cmd
}

// stored prints what the session that ref names has in the state directory, as a daemon
// would give it, and with follow what the process that runs it adds.
func (f *viewFlags) stored(ctx context.Context, st *streams, cfg configuration, ref string, follow bool) error {
	profile, err := f.check()
	if err != nil {
		return err
	}
	all, err := storedSessions(cfg)
	if err != nil {
		return err
	}
	s, err := gateway.FindSession(ref, slices.Values(all))
	if err != nil {
		return err
	}
	log := newLogger(st.err, cfg, redact.New(cfg.Secrets()...))
	told := map[journal.Position]bool{} // more than one reader meets the same place
	dir := filepath.Join(host.SessionDir(cfg.StateDir, s.ID), "journal")
	r, err := journal.OpenReader(dir, func(d journal.Damage) {
		if !told[d.Position] {
			told[d.Position] = true
			log.Error("the journal is damaged: a part of the session cannot be read",
				"session", s.ID, "position", int64(d.Position), "envelopes", d.Lines, "err", d.Err)
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it never began
	}
	if err != nil {
		return err
	}
	v := &storedView{st: st, session: s, reader: r, profile: profile}
	err = v.print(ctx, f.output, f.from, follow)
	switch _, stat := os.Stat(dir); {
	case ctx.Err() != nil, errors.Is(stat, fs.ErrNotExist):
		return nil // the person left, or the session was removed
	case err == nil && follow:
		fmt.Fprintf(st.err, "agenthost: no process runs session %s, and no daemon\n", s.ID)
	}
	return err
}

// storedView shows the journal of a session without a daemon.
type storedView struct {
	st      *streams
	session wire.Session
	reader  *journal.Reader
	profile contract.Profile
}

// print prints the stream in a form, from a position on.
func (v *storedView) print(ctx context.Context, form string, at wire.Position, follow bool) error {
	oldest, end, err := v.reader.Bounds()
	if err != nil {
		return err
	}
	from := max(journal.Position(at), oldest)
	switch {
	case at < wire.FromEnd:
		return wire.Errorf(wire.CodeInvalid, "from: want a position, or -1 for the end, got %d", at)
	case at == wire.FromEnd:
		from = end
	case from > end && follow:
		return wire.Errorf(wire.CodeInvalid, "from: want a position up to %d, the end of the session, got %d", end, at)
	}
	items := v.reader.Read(from, end)
	if follow {
		items = v.reader.FollowWriter(ctx, from)
	} else if from >= end {
		return nil
	}
	out := &output{}
	switch form {
	case "envelopes":
		out.sink = &envelopeSink{w: v.st.out, profile: v.profile}
	case "events":
		s := v.session
		out.sink = &eventSink{w: v.st.out, next: oldest, fold: fold.New(session.Session{
			ID: s.ID, WorkspaceID: s.Dir, ParentID: s.Parent, Title: s.Title, AgentID: s.Agent,
		}), read: func(from, to journal.Position) iter.Seq2[journal.Record, error] {
			return v.records(v.reader.Read(from, to))
		}}
	default:
		out.sink = newTextSink(v.st, redact.New(secretsOf(environ())...))
	}
	return out.follow(from, itemsOf(v.records(items)))
}

// records are records as the profile shows them.
func (v *storedView) records(seq iter.Seq2[journal.Record, error]) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for r, err := range seq {
			if err == nil {
				var ok bool
				if r.Envelope, ok = v.profile.Apply(r.Envelope); !ok {
					continue
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// itemsOf are records as a session that runs gives them.
func itemsOf(seq iter.Seq2[journal.Record, error]) iter.Seq2[host.Item, error] {
	return func(yield func(host.Item, error) bool) {
		for r, err := range seq {
			if !yield(host.Item{Position: r.Position, Envelope: r.Envelope, Line: r.Line}, err) {
				return
			}
		}
	}
}
