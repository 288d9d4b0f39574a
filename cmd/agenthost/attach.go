package main

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"errors"
	"io"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/nrednav/cuid2"
	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/internal/console"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/wire"
)

// viewFlags say how a stream is shown.
type viewFlags struct {
	command         string
	from            int64
	output, profile string
}

func (f *viewFlags) register(cmd *cobra.Command, from int64, what string) {
	f.command = cmd.Name()
	cmd.Flags().Int64Var(&f.from, "from", from, "first position `N` to print"+what)
	cmd.Flags().StringVar(&f.output, "output", "text", "print `FORM`: text, envelopes or events")
	addProfile(cmd, &f.profile)
}

// check refuses values that no flag type checks.
func (f *viewFlags) check() (contract.Profile, error) {
	if err := oneOf(f.command, "--output", f.output, "text", "envelopes", "events"); err != nil {
		return "", err
	}
	return parseProfile(f.profile)
}

// viewing makes a viewing of the session that ref names.
func (f *viewFlags) viewing(ctx context.Context, st *streams, l *link, ref string) (*viewing, error) {
	profile, err := f.check()
	if err != nil {
		return nil, err
	}
	s, err := l.Session(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &viewing{st: st, link: l, session: s, from: f.from, form: f.output, profile: profile}, nil
}

func newAttach(st *streams) *cobra.Command {
	f := &viewFlags{}
	var watch, text, take bool
	var escape string
	cmd, r := viewerCommand("attach SESSION", "Watch a session, type prompts and answer what it asks", `  agenthost attach last
  agenthost attach k3x9 --from 0 --output envelopes`, cobra.ExactArgs(1), nil)
	cmd.Long += `

A session that runs with the agent's own screen shows that: ctrl-] and then d
leaves, ? helps. Else, or with --text, each line is a prompt; what the agent asks
is asked here, and at everybody else who watches. Ctrl-C leaves; the session goes
on without you.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return r.with(cmd, func(ctx context.Context, l *link) error {
			v, err := f.viewing(ctx, st, l, args[0])
			if err != nil {
				return err
			}
			if v.session.Face == wire.FaceTerminal && !text && f.output == "text" && f.from == wire.FromEnd && onTerminal(st) {
				return v.attachScreen(ctx, watch, take, escape)
			}
			return v.attach(ctx, !watch)
		})
	}
	f.register(cmd, wire.FromEnd, "; -1 for what comes from now on")
	cmd.Flags().BoolVar(&watch, "watch", false, "only watch")
	cmd.Flags().BoolVar(&text, "text", false, "show the stream, not the agent's own screen")
	cmd.Flags().BoolVar(&take, "take", false, "take control, for the agent's own screen")
	cmd.Flags().StringVar(&escape, "escape", "", "escape `KEY` of that screen (default ctrl-])")
	return cmd
}

// viewing shows a session's stream.
type viewing struct {
	st      *streams
	link    *link
	session wire.Session
	// from is where to begin, until where to end when it is bounded.
	from, until wire.Position
	bounded     bool
	form        string
	profile     contract.Profile
	secrets     *redact.Redactor // nil for those of this process's environment

	out  output
	asks *remoteAsks // nil when nobody is asked here
	// asked is told of each ask that is offered, nil for nobody.
	asked func(wire.Ask)
	// gone says that watch ended because the session was removed.
	gone bool
}

// left is err, or nil when the person left.
func (v *viewing) left(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// events prints events of the session contract, one a line.
func (v *viewing) events(list []jsontext.Value) error {
	for _, e := range list {
		if _, err := v.st.out.Write(append(slices.Clone(e), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// errSeen ends a viewing that has seen what it was for.
var errSeen = errors.New("seen")

// watch prints the stream until it ends. see is told of each envelope; its error
// ends the viewing, which errSeen does without one.
func (v *viewing) watch(ctx context.Context, see func(contract.Envelope) error) error {
	if v.bounded && v.from >= v.until {
		return nil
	}
	sub := client.Subscription{Session: v.session.ID, From: v.from, Profile: string(v.profile), Live: !v.bounded}
	if v.form == "events" {
		sub.Format = wire.FormatEvents
	}
	switch v.form {
	case "envelopes":
		// The other side applied the profile.
		v.out.sink = &envelopeSink{w: v.st.out, profile: contract.ProfileExtended}
	case "text":
		v.out.text = true
		if v.secrets == nil {
			v.secrets = redact.New(secretsOf(environ())...)
		}
		v.out.sink = newTextSink(v.st, v.secrets)
	}
	v.gone = true // unless the loop is left
	for it, err := range v.link.Subscribe(ctx, sub) {
		if err == nil {
			err = v.item(it, see)
		}
		if err == nil && v.bounded && it.Next >= v.until {
			err = errSeen
		}
		if errors.Is(err, errSeen) {
			v.gone = false
			break
		}
		if err != nil {
			return err
		}
	}
	if v.out.sink != nil {
		return v.out.sink.close()
	}
	return nil
}

// unremoved is err of a watch that ends only with what it was for, or what it means that
// the session was removed, meanwhile or before the watch began.
func (v *viewing) unremoved(err error) error {
	if err == nil && v.gone || client.Code(err) == wire.CodeNotFound {
		return &problem{code: exitFailed, what: "session " + v.session.ID + " was removed"}
	}
	return err
}

// item prints one thing of the stream.
func (v *viewing) item(it client.Item, see func(contract.Envelope) error) error {
	switch {
	case v.form == "events":
		return v.events(slices.Concat(it.Events, it.LiveEvents))
	case it.Envelope != nil && it.Envelope.Kind() != 'n':
		e, err := contract.Decode(it.Envelope)
		if err != nil {
			return err
		}
		v.out.last.see(e)
		if err := v.out.sink.envelope(host.Item{Position: journal.Position(it.Next - 1), Envelope: e, Line: it.Envelope}); err != nil {
			return err
		}
		if see != nil {
			return see(e)
		}
	}
	if s := it.Changed; s != nil && s.State == wire.StateFailed && s.Error != nil {
		return failedSession(*s)
	}
	for _, l := range it.Live {
		if d := l.Delta; d != nil {
			err := v.out.sink.delta(host.Delta{Turn: d.Turn, Subagent: d.Subagent, Call: d.Call, Thinking: d.Thinking, Text: d.Text})
			if err != nil {
				return err
			}
		}
		if l.Ask != nil && v.asks != nil {
			v.asks.offer(*l.Ask)
		}
		if l.Ask != nil && v.asked != nil {
			v.asked(*l.Ask)
		}
	}
	return nil
}

// failedSession says why a session's agent could not be had.
func failedSession(s wire.Session) error {
	p := &problem{code: exitStart, what: s.Error.Message}
	if s.Error.Code == contract.CodeUnsupported || s.Error.Code == contract.CodeSessionNotFound {
		p.code = exitUsage
	}
	return p
}

// attach shows the stream until the person leaves or the session is removed.
func (v *viewing) attach(ctx context.Context, interactive bool) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var keys *keyboard
	if in, closer := terminalInput(v.st); interactive && in != nil && v.form == "text" {
		if closer != nil {
			defer closer.Close()
		}
		keys = newKeyboard(in)
	}
	return v.attached(ctx, stop, keys)
}

// attachScreen shows the agent's own screen until the person leaves or it is over.
func (v *viewing) attachScreen(ctx context.Context, watch, take bool, escape string) error {
	key, err := parseEscape(escape)
	if err != nil {
		return err
	}
	s := v.session
	if !watch {
		if s, err = readyScreen(ctx, v.link, s); err != nil {
			return err
		}
	}
	if take {
		if _, err := v.link.Control(ctx, wire.ControlParams{Session: s.ID, ClientType: contract.ClientCLI}); err != nil {
			return err
		}
	}
	tty, err := personTTY(v.st)
	if err != nil {
		return usage("add --text", "%v", err)
	}
	defer tty.Close()
	return screenUntil(ctx, v.st, v.link, s.ID, tty, console.Options{Escape: key, From: screen.Whole, Watch: watch}, newEnding(ctx, 0))
}

// attached shows the stream; keys, when not nil, are those of the person, whose end
// is a goodbye.
func (v *viewing) attached(ctx context.Context, leave func(), keys *keyboard) error {
	see := func(contract.Envelope) error { return nil }
	if keys != nil {
		v.asks = newRemoteAsks(v.link)
		defer v.asks.close()
		go v.asks.run(ctx, v.st, keys)
		p := newPace(v.session.Status == session.StatusBusy)
		see = func(e contract.Envelope) error { p.see(e); v.asks.see(e); return nil }
		go v.typed(ctx, keys, p, leave)
	}
	return v.left(ctx, v.watch(ctx, see))
}

// typed sends what a person types, a prompt a line, when nothing is under way.
// The end of the input leaves.
func (v *viewing) typed(ctx context.Context, keys *keyboard, p *pace, leave func()) {
	defer leave()
	lines := bufio.NewReader(keys.prompts)
	for p.idle(ctx) {
		keys.awaited.Store(true)
		v.ready()
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			id := cuid2.Generate()
			p.expect(id)
			if _, serr := v.link.Send(ctx, wire.SendParams{Session: v.session.ID, ID: id, Text: text}); serr != nil {
				p.forget(id)
				v.report(serr)
			}
		}
		if err != nil {
			return
		}
	}
}

// ready says that a prompt is awaited.
func (v *viewing) ready() { _, _ = io.WriteString(v.st.err, "> ") }

func (v *viewing) report(err error) {
	_, _ = io.WriteString(v.st.err, "agenthost: "+err.Error()+"\n")
}

// turnOf sends a message and prints what comes until its turn is over.
func (v *viewing) turnOf(ctx context.Context, p wire.SendParams) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p.ID = cuid2.Generate()
	if _, err := v.link.Send(ctx, p); err != nil {
		return err
	}
	mine := ""
	err := v.unremoved(v.watch(ctx, func(e contract.Envelope) error {
		switch ev := e.Event.(type) {
		case contract.TurnStart:
			if slices.Contains(ev.Prompts, p.ID) {
				mine = e.Turn
			}
		case contract.TurnEnd:
			if mine != "" && e.Turn == mine {
				return errSeen
			}
		case contract.Service:
			if ev.Code == contract.CodeHostStopped {
				return &problem{code: exitFailed, what: ev.Text}
			}
		}
		return nil
	}))
	if err != nil || ctx.Err() != nil {
		return v.left(ctx, err)
	}
	return v.out.once(v.out.last.problem(""))
}

// pace says when nothing is under way in a session.
type pace struct {
	mu      sync.Mutex
	busy    bool            // guarded by mu; a turn runs
	waiting map[string]bool // guarded by mu; messages that no turn took up
	changed chan struct{}   // holds a value when one of them may have changed
}

func newPace(busy bool) *pace {
	return &pace{busy: busy, waiting: map[string]bool{}, changed: make(chan struct{}, 1)}
}

func (p *pace) change(f func()) {
	p.mu.Lock()
	f()
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *pace) expect(id string) { p.change(func() { p.waiting[id] = true }) }
func (p *pace) forget(id string) { p.change(func() { delete(p.waiting, id) }) }

func (p *pace) see(e contract.Envelope) {
	switch ev := e.Event.(type) {
	case contract.TurnStart:
		p.change(func() {
			p.busy = true
			for _, id := range ev.Prompts {
				delete(p.waiting, id)
			}
		})
	case contract.TurnEnd:
		p.change(func() { p.busy = false })
	case contract.Service:
		if ev.Code == contract.CodeHostStopped {
			p.change(func() { clear(p.waiting) }) // they are not run
		}
	}
}

// still reports whether nothing is under way.
func (p *pace) still() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.busy && len(p.waiting) == 0
}

// idle waits until nothing is under way; false when ctx ended.
func (p *pace) idle(ctx context.Context) bool {
	for {
		if p.still() {
			return ctx.Err() == nil
		}
		select {
		case <-p.changed:
		case <-ctx.Done():
			return false
		}
	}
}
