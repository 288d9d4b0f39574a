// Package pty runs any program of the terminal: agenthost run pty -- CMD.
//
// A session of it is a screen that is seen and typed at, from here and from elsewhere.
// Of what the program says nothing is known. A prompt is typed: as one bracketed paste
// where the screen has that on, else line by line, each with Enter. Its turn ends when
// the screen has come to rest for a while.
//
// # Guarantees
//
//   - A text is typed whole and in order; keys that a terminal would take out of it are
//     not. The Enter behind a paste is written apart from it: programs take one that
//     comes with it for a part of the paste.
//   - Nothing is typed at a screen that asks for a confirmation: the Enter would give it.
//   - A turn has one end, whatever the screen does.
//   - What a person types at the terminal makes no envelopes: it cannot be told from
//     other keys.
//
// # Settings
//
//   - rest: how long the screen is at rest before a turn is over, like "5s"; 3 s.
//   - abort: the key that stops what runs, "ctrl-c" (when not set), "esc" or "none".
//   - screenText = "yes": when a turn is over, the lines of the screen that are new since
//     its prompt are its text. A program that draws its screen anew makes that
//     unreliable, so it is off.
//
// # Non-goals
//
// Questions and permissions of the program: they are answered at its screen. A program
// whose screen never rests (a clock, a spinner) tells nothing of when it is done: its
// turns end too early or after two minutes.
//
// # Testing
//
// go test ./adapters/pty plays recordings of bash, less and top, and has a fuzz target.
package pty
