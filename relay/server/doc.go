// Package server is the relay: hosts dial in and stay, people come and go, and what
// the hosts tell is stored in between.
//
// # Guarantees
//
//   - A tenant's viewers and hosts see that tenant only: the token names the tenant,
//     and everything below is the tenant's own (package store).
//   - A command reaches the process that has the host, whichever process it came to.
//     It is answered with what the host said, or with host_offline when nothing was
//     sent, or with unknown_outcome or timeout when nobody knows. The two may be
//     repeated with the same envelope id.
//   - Who calls is said by the relay, from the token. What viewers write of
//     themselves is not passed on.
//   - A host is there once: a newer connection of the same host ends the older one.
//   - One host or viewer that is slow or sends garbage harms no other.
//
// # Non-goals
//
// What the sessions mean: envelopes are bytes here, but for their length. Whether an
// agent may do something is the host's mediator's to decide.
//
// # Testing
//
// go test ./relay/server runs servers on an embedded store, alone, two on one store,
// and three in a cluster of which one is killed.
package server
