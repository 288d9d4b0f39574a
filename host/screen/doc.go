// Package screen keeps the screen of one session's agent: what the agent writes to its
// terminal, by offset, for those who look on; how that looks, for those who come later;
// and the way of keys and sizes to it.
//
// # Guarantees
//
//   - What a viewer reads is what the agent wrote, byte by byte, nothing left out or
//     twice; or it is a Reset: a repaint that takes the place of all that was shown,
//     after which it goes on byte by byte. Who begins to look can have what left the
//     screen before. A viewer costs nothing while it doesn't read,
//     and can't slow down the agent, but for one with a Hold.
//   - A size holds from the byte on where it was set.
//   - Input is typed whole and in order, unchanged.
//   - What the agent asks its terminal is answered here while no console is there to do
//     it, and the console that comes is told what was.
//   - The emulator is always as far as the bytes are. It is faster than a PTY, and is
//     fed in one with it, so that nothing has to be skipped.
//   - When nothing happens nothing runs: no timer, no polling.
//   - No method blocks but Read, and what Show returns.
//
// # Offsets
//
// An offset is a place in all that was ever shown: it grows over agents that follow
// each other, and starts at the present time, so that one from an earlier Hub of the
// session (a host that was started anew) means a Reset and not other bytes. A change of
// size or the agent's end takes a place too, so that a reader learns it as it learns of
// bytes: offsets are not counts of bytes.
//
// # Ownership
//
// Data of a Chunk belongs to the reader. Show starts one goroutine, which ends when
// the Source's Read does: whoever closes the Source waits by what Show returned.
//
// # Non-goals
//
// Who may type and whose size counts is decided elsewhere. The text of the screen is
// for gates (a dialog at the start, a log-in) and for people; what an agent says is never
// read off it.
//
// # Testing
//
// go test ./host/screen/... (PTYs are real ones where they matter). Benchmarks:
// go test -bench . ./host/screen: throughput beside a plain copy of a PTY, and the
// latency of a key.
package screen
