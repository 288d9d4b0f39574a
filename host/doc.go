// Package host runs sessions: it owns the one ordered loop that stands between
// an agent's process, its pure Protocol, the journal and the people.
//
// # The loop
//
// Each Session has one goroutine that owns all of its state. It takes frames of
// the child, messages from its inbox (commands, decisions, finished effects) and
// timers, one at a time; hands each to the Protocol; and applies the Step that
// comes back before it takes the next. So the order in which things happened is
// the order in the journal, without sleeps or watermarks. A child that does not
// read cannot stop the loop (writes have a queue of their own); a disk that
// cannot keep up does, and the pipe then holds the child back.
//
// # Faces
//
// A session has a face: the agent's protocol over pipes, or its own screen on a terminal
// (Config.Face). A face belongs to one child. SetFace ends one and starts the next with
// the agent's own session, in the same loop and the same journal. What is on the screen
// never passes the loop: Screen has it. What a person types, answers and stops there
// reaches the loop as drafts of the user and is taken down, with the ids by which turns
// name their prompts; it had its effect already.
//
// # Guarantees
//
//   - An accepted input is in the journal before Submit returns.
//   - Every turn-start gets exactly one turn-end, on every path: the agent's own
//     end, its exit, an abort that it ignores, a protocol failure, a stop.
//   - No tool runs on an answer that is not in the journal, on disk.
//   - When Done is closed, no process of the session is left.
//   - Two children of a session never run at once, and no two sessions of one StateDir
//     have the same native session open.
//   - A decision that comes after one at the agent's own screen is refused, and told so.
//
// # Non-goals
//
// Deciding permissions (package permission), translating (package adapters and
// below), starting and ending processes (internal/proc), showing anything.
//
// # Testing
//
// The loop runs under testing/synctest with a scripted child; real processes
// appear in the end-to-end tests only.
package host
