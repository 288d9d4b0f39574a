//go:build !linux && !darwin && !freebsd

package main

import "io/fs"

func room(string) (int64, bool) { return 0, false }

func readable(fs.FileMode) bool { return false }

func checkTerminal() finding {
	return finding{Check: "terminal", Status: doubtful, Detail: "not tried on " + platform(), Mend: "agents' own interfaces need a pseudo-terminal"}
}
