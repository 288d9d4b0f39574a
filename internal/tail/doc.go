// Package tail follows files that other programs append lines to.
//
// A Set follows any number of files and patterns with one goroutine and, for each
// directory, one watch of the system's. Where it cannot watch, and every few seconds
// all the same, it looks.
//
// # Guarantees
//
//   - A line is delivered once, whole, when its end is there; the lines of a file come
//     in their order. What stands behind the last line end waits, for as long as it takes,
//     and is not delivered when there is never an end.
//   - Lines are cut at "\n"; a "\r" before it belongs to the end. Nothing else is looked
//     at: a line that is no valid JSON, two torn into one, an empty one, all are lines.
//   - A file that is not there yet, or whose directories are not, is waited for. It is
//     read from its start.
//   - A file that is replaced, or is shorter than what was read of it, is read anew from
//     its start. So is one that was written anew in its place: the last bytes that were
//     read are compared before more are.
//   - A line longer than Options.MaxLine is dropped, and a Line tells how long it was.
//   - Close and Flush deliver what the files hold when they are called.
//   - Follow and Unfollow wait for nobody. Flush and Close wait for the receiver of lines.
//
// # Non-goals
//
// Directories that are watched in depth; compressed or rotated files beyond a replaced
// one (what was appended to the old file after the last look is lost, and a rotation of
// that kind is no habit of agents).
//
// # Testing
//
// go test ./internal/tail runs on real files. FuzzLines cuts a text at random places and
// wants the same lines.
package tail
