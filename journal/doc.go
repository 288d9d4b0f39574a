// Package journal stores a session's envelopes: one append-only log per session,
// the one durable truth that every view reads.
//
// # Format
//
// A journal is a directory. Its segments are files named by the position of
// their first line in 20 digits, like 00000000000000000000.ndjson; each line is
// exactly contract.Encode of an envelope and a line feed. A Position is a line's
// index over all segments, from 0, without gaps. "lock" is held by the one
// writer. A file that ends in ".torn" is the half line that a crash left at a
// segment's end; it was never acknowledged and is kept for people.
//
// # Guarantees
//
//   - Append writes its envelopes with one write(2), all or none: after a failed
//     write the file is cut back to whole lines.
//   - An envelope whose Append returned is in the journal once, in order, also
//     after kill -9 of the host; after a crash of the machine, if Sync returned or
//     the policy is SyncAlways.
//   - Follow gives history and then what is appended, without a gap or a double,
//     to any number of followers. They pull: a slow one costs nobody anything, and
//     each holds one buffer of 64 KiB or the longest line.
//   - Only one process at a time has a journal open for writing (ErrLocked); any
//     number may read it with OpenReader, which sees whole lines only.
//   - A line that is no envelope (a damaged disk, a foreign hand) is passed over,
//     keeps its position, and is reported: Options.Damaged for each, and the
//     positions of the records around it leave it out.
//   - A write or sync that failed is final (*WriteError): after it nothing more is
//     accepted, since nobody knows what the disk has.
//
// # Concurrency
//
// A Journal is safe for concurrent use. Appends stand in the order in which they
// returned. Nothing blocks on a reader; Append blocks on the disk, and under
// SyncAlways on the sync, which concurrent Appends share.
//
// # Non-goals
//
// It does not look into envelopes (package stamp makes them valid), removes no
// duplicates, and has no index: finding a position scans one segment.
//
// # Testing
//
// go test ./journal/... includes a process that is killed at random points.
package journal
