// Package console shows an agent's own screen on the terminal of a person, and types
// what the person types at the agent: the last metre of `agenthost run` and
// `agenthost attach`.
//
// # Two ways to show
//
// While the person's terminal has the size of the screen, and the person holds
// control, bytes pass as they are: nothing is added, changed or held back, in neither
// direction but for the escape key. In all other cases — another one holds control,
// the screen has another size, something is to be told — the screen is mirrored: drawn
// by an emulator of our own into the alternate screen of the person's terminal, cut or
// with room beside it, with a line at the bottom that says why and what to press. What
// lies on the person's normal screen and in its scrollback stays.
//
// # Guarantees
//
//   - Whatever way Run ends — the agent gone or killed, detached, the terminal hung up,
//     the context over, a panic — the terminal gets back its settings, and the modes
//     that the agent switched on (alternate screen, mouse, paste, keyboard protocols,
//     cursor, colours) are switched off. So too before a stop (SIGTSTP), after which
//     all is drawn anew.
//   - The keyboard is read though the screen, or the agent, does not take what is sent:
//     the escape key works. What was typed before more than MaxTyped bytes were taken
//     waits in the terminal.
//   - Nothing is typed while another one holds control, also not what was typed just
//     before it was taken: a Terminal refuses it. Nor goes what waits for an agent to the
//     one that takes its place. Why keys that the person may type do not go is told.
//   - What the agent asks of a terminal is left to the person's only while bytes pass to
//     it: not when it is mirrored, stopped, or left.
//   - When Run returns none of its goroutines is left, if the terminal can be polled, as
//     Open's can.
//
// # The escape key
//
// Ctrl-] by default. Then d leaves, z stops this program, t takes control, q ends the
// session, ? helps, and the escape key itself is typed. It is known as a control
// character and as the kitty and xterm keyboard protocols send it, and is no key within
// a bracketed paste.
//
// # Non-goals
//
// The PTY (internal/proc), what is kept of the screen (host/screen), who may type
// (host/daemon).
//
// # Testing
//
// go test ./internal/console runs it on real PTYs, also as a child with job control.
package console
