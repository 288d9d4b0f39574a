package config

import (
	"fmt"
	"strings"
)

// Fault is one mistake in the configuration.
type Fault struct {
	// File and Line say where it is; Line is 0 when it is in no line. File is the
	// name of a variable or a flag for those.
	File string
	Line int
	// Path is the key, like "agents.claude.env".
	Path string
	// Text says what was wanted and what was found.
	Text string
}

// Error is like `/home/u/.config/agenthost/config.yaml:3: log.level: want one of …`.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	return b.String() + f.Text
}

// Faults are all mistakes of a configuration. It is the error of Load when the
// configuration could be read and is wrong.
type Faults []Fault

// Error has one line for each.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}
