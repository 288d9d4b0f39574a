package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// DefaultMaxLine is the longest line of stdout that is delivered, in bytes.
	// Tool results with images make lines of several MiB; a longer line than
	// this is dropped and told.
	DefaultMaxLine = 64 << 20
	// maxStderrLine is the same for stderr, where lines are read by people.
	maxStderrLine = 1 << 20
	// DefaultStderrTail is how much of the end of stderr is kept, in bytes.
	DefaultStderrTail = 64 << 10
	// DefaultMaxQueued is how many bytes Write queues for a child that doesn't
	// read before it returns ErrInputFull.
	DefaultMaxQueued = 256 << 20
	// DefaultInputGrace is how long Stop waits for an exit after closing stdin.
	DefaultInputGrace = 3 * time.Second
	// DefaultTermGrace is how long Stop waits for an exit after SIGTERM.
	DefaultTermGrace = 3 * time.Second
	// DefaultSilenceGrace is how long a child may live after it closed its
	// stdout before it is stopped.
	DefaultSilenceGrace = 5 * time.Second
)

// Spec says what to start and how to treat it. Zero durations and sizes mean
// the defaults; negative ones mean none: no wait, no tail.
type Spec struct {
	// Argv is the command. Argv[0] is the absolute path of the executable (see
	// Resolve); it is not looked up.
	Argv []string
	// Env is the child's whole environment as KEY=value (see internal/childenv),
	// but for MarkerName, which is added. Nil is an empty environment.
	Env []string
	// Dir is the child's working directory. Empty means this process's.
	Dir string
	// Terminal gives the child a terminal of this size as its three streams and its
	// controlling terminal; nil is pipes. Sizes of 0 mean DefaultCols and
	// DefaultRows. What it writes is Child.Terminal's to read, and there are no
	// Lines and no tail; NoInput, MaxLine, StderrTail and InputGrace mean nothing.
	// The error of Start wraps errors.ErrUnsupported where there are none.
	Terminal *TerminalSize
	// NoInput gives the child an empty stdin from the start: for one-shot
	// commands that wait for the end of their input though they have a prompt.
	NoInput bool
	// MaxLine is the longest line delivered, in bytes without the line end.
	MaxLine int
	// StderrTail is the size of the tail of stderr that is kept, in bytes.
	StderrTail int
	// MaxQueued bounds the bytes waiting to be read by the child.
	MaxQueued int64
	// InputGrace, TermGrace and SilenceGrace: see the constants.
	InputGrace, TermGrace, SilenceGrace time.Duration
	// Supervise puts a shim between this process and the child, so that the
	// child and all below it end when this process does, however it ends. It
	// costs some milliseconds and MiB. This process becomes a subreaper by it:
	// should a shim be killed, what it leaves comes to us and is ended. Whoever
	// starts processes by other means in sessions of their own must not do so in
	// a program that supervises, since they look the same.
	// Only Linux has it; elsewhere it is ignored.
	Supervise bool
	// Shim is the shim to use, started by Prestart. Nil, or one that is used or
	// closed, means one of its own, started when it is needed.
	Shim *Shim
}

func (s Spec) withDefaults() Spec {
	set := func(v *time.Duration, def time.Duration) {
		switch {
		case *v == 0:
			*v = def
		case *v < 0:
			*v = 0
		}
	}
	set(&s.InputGrace, DefaultInputGrace)
	set(&s.TermGrace, DefaultTermGrace)
	set(&s.SilenceGrace, DefaultSilenceGrace)
	if s.MaxLine <= 0 {
		s.MaxLine = DefaultMaxLine
	}
	if s.StderrTail == 0 {
		s.StderrTail = DefaultStderrTail
	}
	if s.MaxQueued <= 0 {
		s.MaxQueued = DefaultMaxQueued
	}
	return s
}

var (
	// ErrInputFull means that the child reads so slowly that Spec.MaxQueued
	// bytes already wait for it; nothing of the refused write was queued.
	ErrInputFull = errors.New("child does not read its input")
	// ErrInputClosed means that CloseInput or Stop came before the write, or
	// that the child was started with NoInput.
	ErrInputClosed = errors.New("input of the child is closed")
	// ErrLost means that the exit status isn't known: the supervisor was killed,
	// or the process didn't die from SIGKILL in time.
	ErrLost = errors.New("child process lost")
)

// Exit tells how a process ended.
type Exit struct {
	// Code is the exit status, or -1 when a signal ended the process or the
	// status isn't known.
	Code int
	// Signal is the signal that ended the process, or 0.
	Signal syscall.Signal
	// Err is set when the status isn't known (it wraps ErrLost then).
	Err error
}

// Success reports whether the process ended by itself with status 0.
func (e Exit) Success() bool { return e.Code == 0 && e.Signal == 0 && e.Err == nil }

// String says it in words: "exit status 7", "signal: killed", or the error.
func (e Exit) String() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Signal != 0:
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// StartError tells why a command couldn't be started. It wraps the system's
// error, so that errors.Is(err, fs.ErrNotExist) and the like hold.
type StartError struct {
	// Path is the executable.
	Path string
	// Reason says more than the system's error where it would mislead.
	Reason string
	Err    error
}

func (e *StartError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("starting %q: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("starting %q: %v", e.Path, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// check refuses what would be started as something else: a relative path depends
// on whose directory it is taken from, a NUL cuts a string.
func check(argv, env []string, dir string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("starting a child: want a command, got none")
	}
	if !filepath.IsAbs(argv[0]) {
		return &StartError{Path: argv[0], Reason: "it is not an absolute path", Err: fs.ErrInvalid}
	}
	for _, list := range [][]string{argv, env, {dir}} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return &StartError{Path: argv[0], Reason: "argument, variable or directory holds a NUL byte", Err: syscall.EINVAL}
			}
		}
	}
	return nil
}
