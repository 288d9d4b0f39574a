package replay

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
)

// Wire understands what another client and an agent said to each other, so that
// the recording can drive a Protocol.
type Wire interface {
	// Options completes o with what the recorded client asked for when it opened
	// the session (an earlier session to resume, a directory), so that a Protocol
	// asks for the same.
	Options(f transcript.File, o adapters.Options) adapters.Options
	// Mapper makes the state of one replay.
	Mapper(f transcript.File) Mapper
	// Grease is what a newer agent could say: messages, each one frame of Stdout,
	// that no version of the Protocol knows and that change nothing.
	Grease() [][]byte
	// Types names the native types in a frame of the agent, as docs/protocol
	// writes them: message types, sub-types, enumerated values. None for noise.
	Types(f adapters.Frame) []string
}

// Mapper follows one replay. Its methods are called in the order in which things
// happen. None may keep or change the bytes it is given.
type Mapper interface {
	// Said takes the next message of the recorded client and returns the commands
	// that a host would submit for it, with empty IDs. It returns none for what a
	// Protocol says by itself.
	Said(data []byte) []adapters.Command
	// Heard takes the next frame of the agent and returns the frames that the
	// Protocol is to receive in its place.
	Heard(f adapters.Frame) []adapters.Frame
	// Wrote takes a message that the Protocol wrote, without its line end, and
	// returns frames that answer it when the recording cannot.
	Wrote(data []byte) []adapters.Frame
	// Stepped is told every Step after its writes went through Wrote, and returns
	// commands that had to wait for it.
	Stepped(s adapters.Step) []adapters.Command
	// Behind reports whether the Protocol has yet to make a request that the
	// recorded client made: what the recording holds next answers it.
	Behind() bool
	// Notes says what of the recording could not be matched.
	Notes() []string
}

// direct is the Mapper of a transcript that holds commands.
type direct struct{}

func (direct) Said([]byte) []adapters.Command           { return nil }
func (direct) Heard(f adapters.Frame) []adapters.Frame  { return []adapters.Frame{f} }
func (direct) Wrote([]byte) []adapters.Frame            { return nil }
func (direct) Stepped(adapters.Step) []adapters.Command { return nil }
func (direct) Behind() bool                             { return false }
func (direct) Notes() []string                          { return nil }
