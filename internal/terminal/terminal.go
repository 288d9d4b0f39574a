// Package terminal runs commands on behalf of an agent and keeps the end of their
// output: what the ACP client methods terminal/create, terminal/output,
// terminal/wait_for_exit, terminal/kill and terminal/release stand on. In spite of
// the protocol's name there is no terminal: commands run on pipes, stdout and
// stderr on one and the same, so that their order is kept.
//
// # Guarantees
//
//   - The output kept of a command is bounded by MaxOutput, whatever limit the
//     agent asks for, and is valid UTF-8 that starts at a character.
//   - A command that nobody asks about never blocks on its output.
//   - Kill, Release and Close end a command with everything below it (see
//     internal/proc), and so does the end of the command itself.
//   - Close ends everything and returns when it has ended.
//
// # Non-goals
//
// No permissions: whether a command may run is decided before. No input: stdin is
// empty. No shell: the command is an executable and its arguments.
//
// All methods are safe for concurrent use. Only Wait and Close block.
//
// Test with: go test ./internal/terminal (runs real commands).
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/agenthost/agenthost/internal/childenv"
	"github.com/agenthost/agenthost/internal/proc"
)

const (
	// MaxOutput is the most output kept of a command, in bytes, whatever the agent
	// asks for: the oldest is thrown away. It also is the default.
	MaxOutput = 1 << 20
	// MaxTerminals is how many terminals may be there at once, running or ended
	// but not released. One more is refused with ErrTooMany.
	MaxTerminals = 64
)

var (
	// ErrUnknown means that no terminal has the id: never, or not any more.
	ErrUnknown = errors.New("no such terminal")
	// ErrTooMany means that MaxTerminals are there already.
	ErrTooMany = fmt.Errorf("more than %d terminals", MaxTerminals)
	// ErrClosed means that the set of terminals is closed.
	ErrClosed = errors.New("terminals are closed")
)

// Config is what all commands of a set have in common.
type Config struct {
	// Env is the environment to which a command's own variables are added, as
	// KEY=value.
	Env []string
	// Dir checks the directory that an agent wants a command to run in, and
	// returns the real one; for "" it returns the default. It decides what is
	// inside of the session's workspace (workspace.Workspace.Dir).
	Dir func(path string) (string, error)
	// Supervise: see proc.Spec.
	Supervise bool
}

// Command is what an agent wants to run.
type Command struct {
	// Path is the executable: a path, or a name that is looked up in the
	// environment's PATH. A relative path is one from the command's directory.
	Path string
	Args []string
	// Env are additional variables as KEY=value.
	Env []string
	// Dir is an absolute path, or empty for the default.
	Dir string
	// OutputLimit is how much of the end of the output is kept, in bytes. Nil
	// means the default, and so does what is above MaxOutput. Zero or less keeps
	// nothing.
	OutputLimit *int64
}

// Output is what there is to know of a terminal at one moment.
type Output struct {
	// Text is the end of the output.
	Text string
	// Truncated is set when Text is not all of it.
	Truncated bool
	// Exit is how the command ended, or nil while it runs.
	Exit *proc.Exit
}

// Set is the terminals of a session. The zero value is of no use; see New.
type Set struct {
	config Config

	mu        sync.Mutex
	terminals map[string]*terminal // guarded by mu
	last      int                  // number of the last id; guarded by mu
	closed    bool                 // guarded by mu
	work      sync.WaitGroup       // one for each command; added to under mu
}

// terminal is one command.
type terminal struct {
	process *proc.Process
	output  *proc.Tail
	ended   chan struct{} // closed when the process is gone and its output read
}

// New returns an empty set. Close it after use.
func New(config Config) *Set {
	return &Set{config: config, terminals: make(map[string]*terminal)}
}

// Create starts a command and returns the id of its terminal. Ids are never used
// twice. The context bounds the start only. The error is ErrTooMany, ErrClosed,
// what Config.Dir says, proc.ErrNotFound, or a *proc.StartError.
func (s *Set) Create(ctx context.Context, command Command) (id string, err error) {
	launch, err := s.launch(command)
	if err != nil {
		return "", fmt.Errorf("creating a terminal: %w", err)
	}
	id, err = s.reserve()
	if err != nil {
		return "", fmt.Errorf("creating a terminal: %w", err)
	}
	t, err := s.run(ctx, launch, limit(command.OutputLimit))
	if err != nil {
		s.cancel(id)
		return "", fmt.Errorf("creating a terminal: %w", err)
	}
	s.publish(id, t)
	return id, nil
}

// launch checks a command and says how it is started.
func (s *Set) launch(command Command) (proc.Launch, error) {
	dir, err := s.config.Dir(command.Dir)
	if err != nil {
		return proc.Launch{}, err
	}
	env := s.config.Env
	for _, entry := range command.Env {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return proc.Launch{}, fmt.Errorf("variable: want NAME=value, got %q", entry)
		}
		env = childenv.With(env, name, value)
	}
	path := command.Path
	if path != "" && !filepath.IsAbs(path) && filepath.Base(path) != path {
		path = filepath.Join(dir, path)
	}
	search, _ := childenv.Get(env, "PATH")
	executable, err := proc.Resolve(path, search)
	if err != nil {
		return proc.Launch{}, err
	}
	env = childenv.With(env, "PATH", proc.PathWith(executable, search))
	return proc.Launch{
		Argv:      append([]string{executable}, command.Args...),
		Env:       childenv.With(env, "PWD", dir),
		Dir:       dir,
		Supervise: s.config.Supervise,
	}, nil
}

// limit is how much output is kept.
func limit(asked *int64) int {
	if asked == nil {
		return MaxOutput
	}
	return int(max(0, min(*asked, MaxOutput)))
}

// reserve takes an id, and a place in work that run or cancel gives back.
func (s *Set) reserve() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "", ErrClosed
	case len(s.terminals) >= MaxTerminals:
		return "", ErrTooMany
	}
	s.last++
	id := "term-" + strconv.Itoa(s.last)
	s.terminals[id] = nil
	s.work.Add(1)
	return id, nil
}

func (s *Set) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.terminals, id)
	s.work.Done()
}

// publish makes a started terminal known, unless Close came meanwhile.
func (s *Set) publish(id string, t *terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		t.process.Kill()
		return
	}
	s.terminals[id] = t
}

// run starts the command and the goroutine that reads its output.
func (s *Set) run(ctx context.Context, launch proc.Launch, size int) (*terminal, error) {
	own, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	launch.Stdout, launch.Stderr = theirs, theirs
	process, err := proc.StartProcess(ctx, launch)
	if err != nil {
		own.Close()
		return nil, err
	}
	t := &terminal{process: process, output: proc.NewTail(size), ended: make(chan struct{})}
	go func() {
		defer s.work.Done()
		defer close(t.ended)
		proc.Copy(t.output, own, process)
		<-process.Done()
	}()
	return t, nil
}

// find returns a terminal. One whose command is being started isn't there yet: its
// id hasn't been told to anyone.
func (s *Set) find(id string) (*terminal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.terminals[id]
	if t == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	return t, nil
}

// Output returns what there is of a command's output, without waiting.
func (s *Set) Output(id string) (Output, error) {
	t, err := s.find(id)
	if err != nil {
		return Output{}, err
	}
	// The exit first: when it is set the output is complete.
	exit := t.exit()
	text, truncated := t.output.Text()
	return Output{Text: text, Truncated: truncated, Exit: exit}, nil
}

// exit returns how the command ended, or nil while it runs.
func (t *terminal) exit() *proc.Exit {
	select {
	case <-t.ended:
		exit := t.process.Exit()
		return &exit
	default:
		return nil
	}
}

// Wait returns how a command ended, when it has and its output is complete. The
// error is ErrUnknown or the context's. Releasing the terminal ends the wait: the
// command is killed then.
func (s *Set) Wait(ctx context.Context, id string) (proc.Exit, error) {
	t, err := s.find(id)
	if err != nil {
		return proc.Exit{}, err
	}
	select {
	case <-t.ended:
		return t.process.Exit(), nil
	case <-ctx.Done():
		return proc.Exit{}, context.Cause(ctx)
	}
}

// Kill ends a command at once, and doesn't wait for it. The terminal stays, with
// its output, until it is released. Killing again, or what has ended, is no error.
func (s *Set) Kill(id string) error {
	t, err := s.find(id)
	if err != nil {
		return err
	}
	t.process.Kill()
	return nil
}

// Release kills a command if it runs, and forgets the terminal. It doesn't wait
// for the end; Close does.
func (s *Set) Release(id string) error {
	t, err := s.find(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.terminals, id)
	s.mu.Unlock()
	t.process.Kill()
	return nil
}

// Close kills every command and returns when all have ended, those released
// before too; it is bounded as proc.Process.Kill is. Later calls of Create fail
// with ErrClosed, others with ErrUnknown.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	for _, t := range s.terminals {
		if t != nil {
			t.process.Kill()
		}
	}
	clear(s.terminals)
	s.mu.Unlock()
	s.work.Wait()
}
