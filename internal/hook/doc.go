// Package hook lets a hook that an agent runs ask the session that runs the agent.
//
// The host listens on a unix socket in a directory of the child's; the agent is
// configured to run CommandLine, which ends up in Run: it hands its standard input to
// the host and prints what the host replies, for as long as that takes.
//
// # Guarantees
//
//   - The socket has mode 0600, in a directory that only its user may enter. Who asks
//     is checked: the user at the other end by the system, and a token that lies beside
//     the socket in a file of mode 0600. So a command that the agent confines to its
//     working directory cannot pass for a hook.
//   - A request is whole or none: one that breaks off is not delivered.
//   - Requests are answered each on its own; a slow answer holds up no other.
//   - Nothing grows without bound: a request over Options.MaxRequest is delivered as the
//     number of its bytes, and beyond Options.MaxOpen requests the next ones wait.
//   - When the host is gone, goes or refuses, Run prints nothing and exits with 0, so that
//     the agent goes on by itself. Asked to, it exits with 2 and a reason instead.
//
// # The wire
//
//	→ agenthost-hook 1 TOKEN LENGTH DROPPED\n, then LENGTH bytes
//	← CODE LENGTH\n, then LENGTH bytes
//
// and the connection ends. One that ends without a reply has none. DROPPED is the length
// of a request that the caller did not keep; LENGTH is then 0.
//
// # Non-goals
//
// Anything of what agents put into hooks: that is the adapters'.
//
// # Testing
//
// go test ./internal/hook; fuzz targets for both directions of the wire.
package hook
