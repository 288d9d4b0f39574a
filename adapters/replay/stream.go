package replay

import "github.com/agenthost/agenthost/contract"

// streamFaults says what is wrong with a whole stream, in both profiles.
func streamFaults(envs []contract.Envelope) []string {
	var out []string
	v := contract.NewValidator(contract.ProfileExtended)
	for i, e := range envs {
		for _, f := range v.Check(i+1, e) {
			out = append(out, "stream: "+f.Error())
		}
	}
	for _, f := range v.Finish(len(envs) + 1) {
		out = append(out, "stream: "+f.Error())
	}
	return out
}
