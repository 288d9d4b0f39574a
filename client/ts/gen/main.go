// Command gen writes agenthost.d.ts into the directory it runs in, which is client/ts
// (see the go:generate line there).
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := types("../..")
	if err == nil {
		err = os.WriteFile("agenthost.d.ts", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
