// Command gen writes openapi.json into the directory it runs in, which is
// relay/gateway (see the go:generate line there).
package main

import (
	"fmt"
	"os"
)

func main() {
	doc, err := document("../..")
	if err == nil {
		err = os.WriteFile("openapi.json", doc, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
