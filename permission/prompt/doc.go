// Package prompt asks a person at a terminal.
//
// A Prompt follows a mediator's feed, shows one ask at a time (the tool, the
// command or a diff, the directory, who asks and why) and turns keys into
// decisions: y yes, a always, n no, N no with a message, e edit, d all of it,
// ? why. Questions are asked field by field.
//
// # Guarantees
//
//   - It works on any io.Reader and io.Writer, and starts no program; an editor is
//     given to it as a function.
//   - Keys that were pressed before an ask was shown never answer it.
//   - Nothing an agent sends reaches the terminal as a control sequence.
//   - An ask that is answered elsewhere is taken off the screen, and a decision
//     that comes late says who was faster.
//   - The end of the input answers nothing: asks stay open for others.
//
// # Non-goals
//
// Raw mode, window size and the editor belong to the command line that uses it.
//
// # Testing
//
// go test ./permission/prompt runs conversations with a real mediator over pipes.
package prompt
