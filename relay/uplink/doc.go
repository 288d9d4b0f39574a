// Package uplink is a host's connection to one relay: it tells the relay of every
// session, in order, and runs what people send through it.
//
// # Guarantees
//
//   - Every envelope of every session reaches the relay once, in order, whatever
//     happens to the connection, the relay or the host: positions are the journal's,
//     the relay says which one is next, and sending again is harmless. Nothing is
//     kept in memory for a relay that is away; the journals are on disk already.
//   - An envelope is sent when it is on the host's disk (Syncer), so that a relay
//     never knows what a crash of the machine makes the host forget.
//   - Memory is bounded: a session has one batch under way and Limits.Inflight of the
//     relay are unanswered in all.
//   - The connection is made again with a back-off with jitter, at once when the
//     machine's network addresses change, for ever.
//   - A command runs for the caller that the relay names, never as a local one.
//
// # Disk
//
// While a relay is away the journals of this machine hold what it will be sent. They
// are bounded by the host's retention alone, which does not wait for relays; Run warns
// each hour of how much waits.
//
// # Non-goals
//
// Deciding what a caller may do: the daemon and its mediator do.
//
// # Testing
//
// go test ./relay/uplink plays a relay and a host in this process, and cuts the
// connection between them at random.
package uplink
