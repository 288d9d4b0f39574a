// Package config loads, checks and watches the configuration: a YAML file, the
// environment (AGENTHOST_*) and flags; the later wins.
//
// # Guarantees
//
//   - A Config is complete: a key nobody set has its default; an empty file, an
//     empty section or a key without a value changes nothing.
//   - Nothing is ignored: an unknown, misspelt or repeated key, a value of the wrong
//     kind or out of range is a Fault with file, line, path and, where one is near,
//     the key that was probably meant. All faults are told at once.
//   - Names that are data keep their case and their dots: variables of agents,
//     models, settings.
//   - A Config never changes. Live swaps whole ones, so that a reader sees the old
//     one or the new one; a broken file leaves the last good one in force.
//   - A change is seen however it is saved (in place, renamed over, a symlink
//     swapped), and only a change of content is one.
//
// # Non-goals
//
// What rules and quirks mean is checked by those who use them: LoadOptions.Check
// takes part in every load. Config knows no agent: LoadOptions.KnownAgents has their
// names.
//
// # viper
//
// viper merges the layers and fills the structs. It is kept away from what it
// breaks: it lower-cases map keys at every depth, splits names at dots, ignores
// unknown keys, wipes everything for an empty file, and its WatchConfig races. So
// there is a new instance with the delimiter "::" for each load, only keys of the
// table in keys.go go in, agents, rules and prices are decoded from the file's own
// nodes, and the file is watched here.
//
// # Testing
//
// go test ./config; with -update it rewrites docs/config.md from the table of keys.
package config
