package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
)

// maxPrompt is the longest prompt read from standard input, in bytes.
const maxPrompt = 32 << 20

// readPrompt reads all of standard input as one prompt.
func readPrompt(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxPrompt {
		return "", usage("send a file with --file instead", "the prompt has more than %d bytes", maxPrompt)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// feeder sends what a person types or pipes to a session.
type feeder struct {
	session *host.Session

	mu      sync.Mutex
	err     io.Writer // guarded by mu
	refused int       // lines that were not taken; guarded by mu
}

// prompt sends one prompt with its files.
func (f *feeder) prompt(ctx context.Context, text string, paths []string) error {
	var files []adapters.Attachment
	for _, p := range paths {
		ev, att, err := f.session.Import(p)
		if err != nil {
			return usage("name a readable file", "%v", err)
		}
		in := host.Input{Envelope: contract.Envelope{Role: contract.RoleUser, Event: ev}, Files: []adapters.Attachment{att}}
		if err := f.session.Submit(ctx, in); err != nil {
			return err
		}
	}
	return f.session.Submit(ctx, host.Input{
		Envelope: contract.Envelope{Role: contract.RoleUser, Event: contract.Text{Text: text}}, Files: files,
	})
}

// lines sends each line as a prompt and waits for its turn, until the input ends.
func (f *feeder) lines(ctx context.Context, in io.Reader, ready func()) error {
	r := bufio.NewReader(in)
	for {
		ready()
		line, err := r.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			if err := f.prompt(ctx, text, nil); err != nil {
				return err
			}
			if err := f.session.Idle(ctx); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// envelopes sends each line as a user envelope until the input ends. A line that
// is none, or that the session does not take, is reported with its number and
// the rest goes on: a person's other inputs must not be lost with it.
func (f *feeder) envelopes(ctx context.Context, in io.Reader) error {
	var late sync.WaitGroup
	defer late.Wait()
	r := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, dropped, err := readLine(r, maxInputLine)
		if dropped > 0 {
			f.report(n, fmt.Errorf("want at most %d bytes, got %d; send a file with --file", maxInputLine, dropped))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			wait, err := f.envelope(ctx, line)
			if errors.Is(err, host.ErrOver) || ctx.Err() != nil {
				return err
			}
			f.report(n, err)
			if wait != nil {
				late.Go(func() {
					if err := wait(ctx); ctx.Err() == nil {
						f.report(n, err)
					}
				})
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// report tells what is wrong with a line of input, if anything is.
func (f *feeder) report(line int, err error) {
	if err == nil || errors.Is(err, host.ErrOver) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// A decision that is refused leaves nothing undone: what it was about was decided by
	// somebody else, or still waits for one.
	if !errors.As(err, new(*refusedDecision)) {
		f.refused++
	}
	fmt.Fprintf(f.err, "agenthost: standard input, line %d: %v\n", line, err)
}

// refusedDecision is why a session did not take a permission-response.
type refusedDecision struct{ error }

func (e *refusedDecision) Unwrap() error { return e.error }

// refusedInput is the error of a run that did not take all that it was sent.
type refusedInput struct{ lines int }

func (e *refusedInput) Error() string {
	if e.lines == 1 {
		return "a line of standard input was not taken"
	}
	return fmt.Sprintf("%d lines of standard input were not taken", e.lines)
}

// whole is nil when every line was taken.
func (f *feeder) whole() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == 0 {
		return nil
	}
	return &refusedInput{f.refused}
}

// maxInputLine is the longest line of envelopes taken, in bytes: a prompt of the
// longest kind, and what JSON adds to it.
const maxInputLine = 2 * maxPrompt

// readLine reads a line with its end, or the last one without. Of one longer than
// limit it gives nothing but its length, and holds no more than limit of it.
func readLine(r *bufio.Reader, limit int) (line []byte, dropped int64, err error) {
	var n int64
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if n <= int64(limit) {
			line = append(line, part...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if n <= int64(limit) {
			n = 0
		}
		return line, n, err
	}
}

func (f *feeder) envelope(ctx context.Context, line []byte) (wait func(context.Context) error, err error) {
	env, err := decodeInput(line)
	if err != nil {
		return nil, err
	}
	wait, err = f.session.Begin(ctx, host.Input{
		Envelope: env,
		By:       contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientCLI},
	})
	if _, decides := env.Event.(contract.PermissionResponse); decides && err != nil {
		err = &refusedDecision{err}
	}
	return wait, err
}

// inputEnvelope is an envelope as people write it: the host gives it what it
// lacks, so everything but ev may be left out.
type inputEnvelope struct {
	ID     string         `json:"id"`
	Role   contract.Role  `json:"role"`
	Origin string         `json:"origin"`
	Ev     jsontext.Value `json:"ev"`
	// Time, Turn and Subagent are the host's to set.
	Time     jsontext.Value `json:"time"`
	Turn     jsontext.Value `json:"turn"`
	Subagent jsontext.Value `json:"subagent"`
	Extra    jsontext.Value `json:",embed"`
}

func decodeInput(line []byte) (contract.Envelope, error) {
	var in inputEnvelope
	if err := json.Unmarshal(line, &in, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return contract.Envelope{}, notAnEnvelope(err)
	}
	if in.Role != "" && in.Role != contract.RoleUser {
		return contract.Envelope{}, fmt.Errorf("role: want %q, got %q", contract.RoleUser, in.Role)
	}
	if in.Ev == nil {
		return contract.Envelope{}, errors.New("ev: want an object, got nothing")
	}
	ev, err := contract.DecodeEvent(in.Ev)
	if err != nil {
		return contract.Envelope{}, belowEv(err)
	}
	return contract.Envelope{ID: in.ID, Role: contract.RoleUser, Origin: in.Origin, Event: ev, Extra: in.Extra}, nil
}

// notAnEnvelope says what of a line of input is wrong, in the words of JSON and
// not of Go.
func notAnEnvelope(err error) error {
	const want = `{"ev":{"t":"text","text":"hi"}}`
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("want a JSON object like %s: %w", want, err)
	}
	got := map[jsontext.Kind]string{
		'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
	}[wrong.JSONKind]
	if wrong.JSONPointer == "" {
		return fmt.Errorf("want a JSON object like %s, got %s", want, got)
	}
	return fmt.Errorf("%s: want a string, got %s", wrong.JSONPointer.LastToken(), got)
}

// belowEv makes paths below the event paths of the envelope.
func belowEv(err error) error {
	var faults contract.Faults
	if errors.As(err, &faults) {
		for _, f := range faults {
			f.Path = strings.TrimSuffix("ev."+f.Path, ".")
		}
	}
	return err
}
