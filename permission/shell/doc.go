// Package shell says what a shell script would run, without running it.
//
// Read parses a script as bash and lists every simple command in it: those of
// pipelines, lists, loops, functions, subshells, $(…), backticks and <(…), and
// those behind wrappers (bash -c, env, xargs, find -exec, sudo, timeout …). It
// also lists the files that redirections touch and the changes of directory.
//
// # Guarantees
//
//   - What cannot be told from the text alone is said to be so: a word, a
//     command or the whole script is marked, never guessed. Policies must treat
//     a mark as "not allowed by any rule".
//   - Where bash and other shells differ the text is marked, not interpreted.
//   - No input makes Read panic, and its work is bounded by the limits in
//     read.go whatever the nesting.
//   - Pure: no file is looked at, no variable of this process is used.
//
// # Non-goals
//
// Deciding. That a command is dangerous is the policy's judgement; this package
// only knows which options of known tools write a file or run a program, so that
// a wildcard does not cover them (tools.go).
//
// # Testing
//
// go test ./permission/shell holds tables per concept and fuzz targets; the
// verdicts over whole commands are tested in permission/policy.
package shell
