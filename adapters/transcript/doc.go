// Package transcript is the file format for what an agent and its host said to
// each other: the native log of a session, `agenthost run --record`, and the
// recordings that adapters/replay plays. A bug report with a transcript
// is a test.
//
// # Format
//
// A transcript is NDJSON. The first line is the Header, every further line a
// Record:
//
//	{"transcript":1,"agent":"gemini","version":"0.61.0","dir":"/w","note":"…"}
//	{"t":2,"d":"cmd","m":{"cmd":"open","id":"o1"}}
//	{"t":2,"d":"in","m":{"jsonrpc":"2.0","id":1,"method":"initialize",…}}
//	{"t":1594,"d":"out","m":{"jsonrpc":"2.0","id":1,"result":{…}}}
//	{"t":1600,"d":"err","raw":"(node:4) Warning: …"}
//	{"t":1700,"d":"tick"}
//	{"t":1800,"d":"exit","m":{"code":0}}
//
// "t" is milliseconds since the header's start and never decreases. "d" is the
// direction (Dir). A frame's bytes are in exactly one of three members: "m" when
// they are strictly valid JSON (kept byte for byte), else "raw" when they are
// valid UTF-8, else "b64". "dropped" counts the bytes of a line over the limit.
//
// # Guarantees
//
// Records round-trip: what a Reader yields is byte for byte what a Writer was
// given. Each Record is one write(2) of one whole line, so a killed writer
// leaves at most one torn line, at the end. A Reader reports a line that it
// cannot read by its number and goes on with the next one; it ignores members
// and directions that it does not know.
//
// The records of directions out, err, term, log, hook, sock, cmd, tick and exit
// are all the input that a Protocol had, in order: feeding them to a new
// Protocol gives its Steps again. A session whose agent was started again goes on
// behind the exit with a run, for another Protocol. in, effect and note are there for people and
// for recordings of other clients, which have no cmd (see replay.Wire).
//
// # Non-goals
//
// The format does not hide secrets: give the Writer a Redact function. It is no
// journal: it is not synced and has no positions.
//
// # Testing
//
// go test ./adapters/transcript round-trips every kind of record and fuzzes the
// reader.
package transcript
