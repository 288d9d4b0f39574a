// Package daemon keeps many sessions in one process: it starts them, recovers them
// after a crash, stops the idle ones, knows their metadata, and runs what people
// want of them, from this machine or through a relay.
//
// # Guarantees
//
//   - One daemon for a user and a state directory. A lock of the kernel decides, so
//     that neither a stale file nor a reused process id fools it, and nobody takes
//     the socket of a daemon that lives. On a home directory shared between
//     machines a daemon of another machine counts as alive as long as it says so.
//   - After a crash every stream gets the ends that are missing before anybody sees
//     it: an unfinished turn is a failed one, an open ask a rejected one.
//   - Starting, stopping and removing a session are one at a time for each session;
//     a command on a stopped session starts its agent again first.
//   - Commands are idempotent by their envelope's id: one sent again gives the same
//     answer and has one effect, also across a restart of the daemon.
//   - The version of a session's metadata only grows, also across crashes, and
//     every change of what wire.Session tells (but its End) has a new one. A change
//     that is based on an old version is a conflict and changes nothing.
//   - A stream is whole: what was stored, then what comes, through stops and starts
//     of the agent, in order, without a gap or a double. Each reader pulls at its own
//     speed.
//   - An agent that died is started again for the next message, or with
//     Config.Restart by itself: after 1 s, 2 s, 4 s … up to 1 min, at most 8 times
//     without a turn that ends well.
//   - When Close returns no process of a session is left.
//
// # Concurrency
//
// A Daemon is safe for concurrent use. Each session that runs has goroutines of its
// own here, which end with it; Close waits for all of them.
//
// # Non-goals
//
// Serving viewers (package gateway, which a Daemon is a Backend of), dialling out
// (package uplink), making the configuration of a session of flags and files (the
// command, by Config.Prepare).
//
// # Testing
//
// go test ./host/daemon plays agents in this process; the stories of cmd/agenthost
// run it with real ones.
package daemon
