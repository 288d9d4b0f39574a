package adapters

// Effect is something a Protocol needs done on this machine on behalf of the
// agent (the client side of ACP's fs/* and terminal/*): one of the structs of
// this file. The host confines it to the session's directories and answers with
// EffectDone.
type Effect interface{ EffectID() string }

// ReadFile reads a text file. Line is 1-based, Limit counts lines; 0 = all.
type ReadFile struct {
	ID, Path    string
	Line, Limit int
}

// WriteFile writes a text file.
type WriteFile struct{ ID, Path, Content string }

// TerminalCreate runs a command in a terminal of its own.
type TerminalCreate struct {
	ID, Command string
	Args        []string
	Env         []Pair
	// Dir is absolute; empty for the session's.
	Dir string
	// Limit is how many bytes of output to keep, 0 = the host's own limit,
	// which always applies.
	Limit int64
}

// TerminalOutput reads what a terminal printed so far.
type TerminalOutput struct{ ID, Terminal string }

// TerminalWait waits for the command's end.
type TerminalWait struct{ ID, Terminal string }

// TerminalKill kills the command and keeps the output.
type TerminalKill struct{ ID, Terminal string }

// TerminalRelease kills the command and forgets the terminal.
type TerminalRelease struct{ ID, Terminal string }

// EffectID implements Effect.
func (e ReadFile) EffectID() string        { return e.ID }
func (e WriteFile) EffectID() string       { return e.ID }
func (e TerminalCreate) EffectID() string  { return e.ID }
func (e TerminalOutput) EffectID() string  { return e.ID }
func (e TerminalWait) EffectID() string    { return e.ID }
func (e TerminalKill) EffectID() string    { return e.ID }
func (e TerminalRelease) EffectID() string { return e.ID }

// TerminalExit is how a terminal's command ended.
type TerminalExit struct {
	Code   int
	Signal string
}

// EffectError says why an effect failed.
type EffectError struct {
	// NotFound: the file or terminal does not exist.
	NotFound bool
	// Refused: outside the session's directories, or not allowed.
	Refused bool
	Message string
}
