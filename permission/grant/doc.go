// Package grant remembers what people allowed for longer than once.
//
// A Store is a file of one JSON record a line: given, used, revoked. Records are
// only appended, under a lock that other processes take, too; the whole file is
// rewritten (to a new file that replaces the old) when much of it is out of date.
//
// # Guarantees
//
//   - The file has mode 0600. A file that others may write is refused: they could
//     have put grants into it.
//   - A grant that Add returned is on disk. A torn last line is left out.
//   - Every Store on the file sees what the others did at its next call. Only uses are
//     counted in memory first, for a second at most: nobody who is to be answered
//     waits for the count.
//   - A grant covers what it says and nothing else: keys are compared whole.
//
// # Non-goals
//
// Deciding in which order grants count: permission.Mediator does.
package grant
