package adapters

// Source says where a frame came from.
type Source int

// The sources.
const (
	// Stdout frames are one line each, without its end.
	Stdout Source = iota
	// Stderr frames are one line each, without its end.
	Stderr
	// Terminal frames are a Screen each.
	Terminal
	// LogFile frames are one line each of a file the agent writes.
	LogFile
	// Hook frames are one request each of a hook the agent calls.
	Hook
	// Socket frames are one message each.
	Socket
)

// Frame is one piece of a child's output.
type Frame struct {
	Source Source
	// ID is the Follow's for LogFile, and that to answer for Hook; else empty.
	ID string
	// File is the base name of the file for LogFile, else empty.
	File string
	// Reconnected says that a Socket's connection broke and stands again; Data is
	// then empty.
	Reconnected bool
	// Data is owned by the Protocol's caller and only valid during Receive.
	Data []byte
	// Dropped is the number of bytes of a line over the limit that were thrown
	// away; Data is then empty.
	Dropped int64
}

// ExitStatus says how a child ended.
type ExitStatus struct {
	// Code is the exit code, -1 when a signal ended it or it did not start.
	Code int
	// Signal is like "SIGKILL", empty when none.
	Signal string
	// Err says why the child could not be started or waited for, else empty.
	Err string
	// Stderr is the end of what it wrote there, valid UTF-8.
	Stderr string
	// Requested says that the host stopped it.
	Requested bool
}
