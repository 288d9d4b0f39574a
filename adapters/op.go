package adapters

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// The operations that change where a conversation goes on. The host reads their
// params and results; those of every other Op it passes through untouched.
//
// Params of both are an object. "to" is the envelope id of a message of the user:
// the point before it. "at" is the Draft.Origin of the last answer to keep. The
// host fills in "at" from the stream when only "to" is given and the stream knows
// it. A Protocol that knows the point of "to" better (it saw the agent take the
// message up) goes by "to".
//
//	rewind  {"to", "at", "what": "conversation" (default), "files" or "both", "dryRun"}
//	fork    {"to", "at"}; neither for the end
const (
	OpRewind = "rewind"
	OpFork   = "fork"
)

// RewindResult is what the host reads in the result of a rewind.
type RewindResult struct {
	// Restart is set when the conversation is cut by starting the agent again:
	// with Options.Resume and Options.ForkAt.
	Restart *Point `json:"restart"`
	// Conversation says that the agent has cut the conversation itself.
	Conversation bool `json:"conversation"`
	// Files is what became of the files: false or nothing when they stay as they
	// are, else whatever the agent tells of them.
	Files jsontext.Value `json:"files"`
}

// Point is a place in an agent's own session.
type Point struct {
	// Session is the native session, Origin that of the last answer to keep.
	Session string `json:"resume"`
	Origin  string `json:"resumeAt"`
}

// ForkResult is what the host reads in the result of a fork: one of Fork and
// Made is set.
type ForkResult struct {
	// Fork is the native session that a new process branches off (Options.Fork), at
	// ForkAt or its end.
	Fork   string `json:"fork"`
	ForkAt string `json:"forkAt"`
	// Made is the native session that the agent made of the branch already, for a
	// new process to open (Options.Resume). ACP calls it sessionId, qwen newSessionId.
	Made    string `json:"sessionId"`
	MadeNew string `json:"newSessionId"`
}

// Branch is the native session that was made, empty when a process has to make it.
func (r ForkResult) Branch() string {
	if r.Made != "" {
		return r.Made
	}
	return r.MadeNew
}

// ReadRewind reads the result of a rewind; what is in no known form is none.
func ReadRewind(v jsontext.Value) RewindResult { return read[RewindResult](v) }

// ReadFork reads the result of a fork; what is in no known form is none.
func ReadFork(v jsontext.Value) ForkResult { return read[ForkResult](v) }

func read[T any](v jsontext.Value) T {
	var r T
	if json.Unmarshal(v, &r) != nil {
		var none T // agents may say anything here
		return none
	}
	return r
}
