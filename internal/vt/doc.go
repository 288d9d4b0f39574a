// Package vt is a terminal without glass: it takes what a program writes to its
// terminal, keeps how the screen looks, answers what the program asks its terminal, and
// paints that screen on another terminal.
//
// # Guarantees
//
//   - Repaint, shown on a terminal of the same size in whatever state it is, gives the
//     same screen with the same modes, cursor, pen, margins, tab stops, saved cursors
//     and an unfinished sequence at the end: what the program writes next has the same
//     effect on both. Not part of it are the stacks of titles and of kitty's key flags,
//     and the character that a REP at once would repeat. RepaintAll has the scrollback too.
//   - Whatever is written, in pieces cut anywhere, nothing panics, and time and memory
//     are bounded: by the size of the screen for a sequence, by the limits named here
//     for what is kept. In bytes, at most: 1 MiB for all links and as much for all
//     combining characters, 8 MiB for the scrollback, 64 KiB each for a control string
//     and for answers that nobody takes, some 50 KiB for titles, colours and modes, and
//     24 a cell for the two screens.
//   - Text and Lines are valid UTF-8.
//
// It is what xterm does with what agents' screens use: the control functions of a VT220
// and the usual ones of xterm (alternate screen, mouse, bracketed paste, hyperlinks,
// colours, titles, key modes of kitty and xterm). A character is as wide as its code
// point (East Asian width, 0 for marks), as most terminals have it without mode 2027.
//
// # Non-goals
//
// No left and right margins, no double-size lines, no selective erase, no pictures, no
// reflow of lines when the width changes: programs of this kind draw anew then. It is
// not safe for concurrent use: it belongs to one goroutine, or a lock.
//
// # Testing
//
// go test ./internal/vt: tables, recordings of real agents, random programs whose
// Repaint must give the same state, and another emulator as oracle for what both know.
package vt
