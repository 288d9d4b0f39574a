// Package client is for programs that watch and drive coding agents through
// agenthost: over the daemon's unix socket, or over a relay from anywhere.
//
//	c, err := client.Dial(ctx, "wss://relay.example", client.Options{Token: token})
//	for item, err := range c.Subscribe(ctx, client.Subscription{Session: "last"}) { … }
//
// # Guarantees
//
//   - Subscribe gives every envelope once and in order, whatever happens to the
//     connection in between: it keeps the cursor and connects again, with a growing
//     pause, until ctx is over. What is no longer kept is told as Item.Reset.
//   - Each subscription has a connection of its own, so that one whose reader is slow
//     is held back alone and nothing grows. A command may be called within its loop.
//   - A command that went out on a connection which was then lost is made again when
//     that is safe: those that the protocol calls repeatable, with the same id. The
//     others return Unknown, and the caller looks before trying again.
//   - Errors of the other side are *wire.Error, whose Code is for programs (see Code)
//     and whose message is for people.
//   - A Client is safe for concurrent use, and holds nothing open after Close.
//
// # Addresses
//
// unix:///run/user/1000/agenthost/daemon-….sock is a daemon, wss://relay.example a
// relay; ws:// is one without TLS, where the token is for everybody on the way to see.
//
// # Non-goals
//
// Rendering (package contract/render), finding the daemon's socket, pairing.
//
// # Testing
//
// go test ./client has a runnable example and a proxy that cuts 200 connections.
package client
