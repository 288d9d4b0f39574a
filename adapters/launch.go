package adapters

// LaunchRequest asks how to start an agent.
type LaunchRequest struct {
	// Command replaces the agent's own command and its protocol arguments when
	// not nil (a wrapper, a container, a fake).
	Command []string
	// Args are a person's further arguments for the agent.
	Args []string
	// Dir is the working directory, absolute.
	Dir string
	// SessionID is the host's id of the session, SessionInfo.ID.
	SessionID string
	// StateDir is a directory of this session alone, 0700, for files that the
	// launch needs. It outlives the child and is absolute.
	StateDir string
	// Getenv reads what the child's environment will have, but for what the Launch sets
	// there. So a Launch may be asked for more than once: what it passes says what that is.
	Getenv  func(string) string
	Options Options
}

// Launch is how to start an agent.
type Launch struct {
	// Argv is the command; Argv[0] is resolved against the child's PATH.
	Argv []string
	// Env is set in the child's environment, beyond what is passed through.
	Env []Pair
	// Pass are globs of variables of the host's environment that this agent
	// needs beside the common allow-list, like "GEMINI_*".
	Pass []string
	// Files are written before the start.
	Files []LaunchFile
	// Dir is where the child starts, absolute, empty for LaunchRequest.Dir. It is
	// set for an agent that takes the session's directory over its protocol and
	// does harm to it at its start.
	Dir string
	// Server is started beside the screen, nil for none; FaceTerminal only.
	Server *Server
	// Screen asks for Terminal frames; FaceTerminal only.
	Screen bool
	// Notices are what a person should know about this start, like a limitation
	// of the machine. The host puts them into the stream as service notices.
	Notices []string
}

// LaunchFile is a file to write before the start, mode 0600.
type LaunchFile struct {
	// Path is absolute, inside LaunchRequest.StateDir.
	Path string
	Data []byte
}
