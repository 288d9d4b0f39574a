// Package gemini runs Gemini CLI, over the Agent Client Protocol that package acp
// speaks, and knows what is particular about it. Recorded against 0.61.0;
// docs/protocol/gemini.md has the mapping tables and the sources.
//
// # What it does about Gemini CLI
//
//   - It is started without the parent that relaunches it (GEMINI_CLI_NO_RELAUNCH):
//     that parent ignores SIGTERM and dies without its child.
//   - Shell commands run without a terminal (GEMINI_PTY_INFO), or their output
//     would not be told. They then survive a SIGKILL of the agent's process group:
//     the host must end the whole family of a child.
//   - Its reports of failed requests, which hold the conversation, go to a
//     directory of the session (TMPDIR).
//   - Where Gemini CLI takes a settings file of ours (it must be root's, and so
//     must every directory above it), that file keeps it from deleting resumed
//     sessions, from remembering permissions, and from the mode "yolo" unless a
//     person opted in. The user's own files are not touched, and an
//     administrator's settings are kept beneath ours.
//   - Where it does not, it is started in the root directory and told the session's
//     over the protocol: at its start it deletes the resumed sessions of the
//     directory it is in. What it reads of that directory only then (a key in a
//     .env file, for a session that is resumed) it does not see; the setting
//     "start" = "project" starts it there all the same.
//   - An earlier session is not loaded within the minute in which it was opened
//     last: Gemini CLI loses it then. What it replays never becomes envelopes.
//   - "[MODE_UPDATE] plan" as a text is a change of mode, also in pieces.
//   - What it leaves out of tool calls is put back: the tool's name from the call's
//     id, a shell's command from the title, an MCP tool's input from its content.
//   - What it would run without asking though a rule may be about it is asked for by a
//     policy in the administrator's tier (askfirst.go), beside theirs.
//   - A fetch of the URLs in a prompt has no single URL, so no rule about one URL
//     can allow it.
//   - Error codes are HTTP numbers, 500 meaning anything. A question for a login
//     code on the protocol's own input ends the start as "not logged in".
//   - Any model name is accepted; one that was not offered is told.
//
// It asks for a login only when the setting "auth" names a method: that writes the
// user's settings. It offers no files: writing a new file fails when it does.
//
// # Its own screen
//
// LaunchTerminal and NewTerminalProtocol are of Gemini CLI on a PTY: hooks, chat file
// and screen are heard and said to package acp as an agent would (type terminal).
// Whatever becomes of the host or of a hook, a tool that needs a permission waits in the
// CLI's own dialog; a key for one call never answers that of another (dialogGate).
//
// # Settings
//
// Those of package acp, and "trust" = "yes": the directory is trusted for this
// session, without which the freer modes are refused in an untrusted one.
//
// # Guarantees
//
// Those of package acp. A Protocol is pure; Launch reads an administrator's and
// the user's settings files and who owns the state directory, and writes nothing.
//
// # Non-goals
//
// The headless stream-json output (it has no permissions).
//
// # Testing
//
// go test ./adapters/gemini replays recordings and has a test for each trap
// (trap_test.go) that fails without its handling.
package gemini
