package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/contract"
)

func addProfile(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "profile", "extended", "the fields of `NAME`: extended, or strict (the draft)")
}

func parseProfile(name string) (contract.Profile, error) {
	p, err := contract.ParseProfile(name)
	if err != nil {
		return "", usage("use extended or strict", "--%v", err)
	}
	return p, nil
}

// streamValidator checks a stream line by line and says its faults as
// "LINE: path: want …, got …".
type streamValidator struct{ v *contract.Validator }

func newStreamValidator(p contract.Profile) streamValidator {
	return streamValidator{contract.NewValidator(p)}
}

func (s streamValidator) line(n int, line []byte) []string {
	var faults []string
	for _, f := range s.v.CheckLine(n, line) {
		faults = append(faults, fmt.Sprint(f))
	}
	return faults
}

// end gives the faults of what is left open behind line n.
func (s streamValidator) end(n int) []string {
	var faults []string
	for _, f := range s.v.Finish(n) {
		faults = append(faults, fmt.Sprint(f))
	}
	return faults
}
