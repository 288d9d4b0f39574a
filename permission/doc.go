// Package permission decides every ask of every agent.
//
// A Mediator takes an ask from a session (Open), lets the policy, the mode and
// the remembered grants answer it, and otherwise puts it before every person who
// may: a terminal, a web page, a relay, an MCP or ACP client, all at once. The
// first decision is final.
//
// # Order
//
// Deny rules, then the session's mode, then allow and ask rules, then remembered
// grants, then people, then the deadline. No answer is a rejection whose cause is
// recorded: timeout, turn-end, exit or host.
//
// # Guarantees
//
//   - Each ask is settled exactly once. All who come later get ErrResolved, which
//     says who won; a decision that is sent again under its envelope id is no
//     error.
//   - Nothing is ever allowed by a timer, by a person who disconnects, or because
//     something failed: an audit log that cannot be written turns an allow into a
//     reject.
//   - A deny rule beats everything, also when it appears while the ask is open,
//     and for arguments that a person edited.
//   - Who subscribes gets the open asks and every later change, none twice and
//     none left out: both happen under the lock that resolves.
//   - Memory is bounded by Options.MaxOpen and MaxOpenBytes; an ask beyond them is
//     rejected, not queued.
//
// # Non-goals
//
// What a person allowed is run by the agent, after the decision: a file may be
// swapped in between. A sandbox closes that gap, not this package.
//
// # Packages
//
// shell reads scripts, policy holds the rules, grant remembers, prompt asks at a
// terminal.
//
// # Testing
//
// go test ./permission/... runs the tables, the races and the time-outs (under
// testing/synctest); FuzzVerdict in permission/policy looks for a script that is
// allowed though one of its commands is not.
package permission
