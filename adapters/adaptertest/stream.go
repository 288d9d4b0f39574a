package adaptertest

import (
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
)

// streamFaults says what is wrong with a whole stream, in both profiles.
func streamFaults(envs []contract.Envelope) []string {
	var out []string
	v := contract.NewValidator(contract.ProfileExtended)
	for i, e := range envs {
		for _, f := range v.Check(i+1, e) {
			out = append(out, f.Error())
		}
	}
	for _, f := range v.Finish(len(envs) + 1) {
		out = append(out, f.Error())
	}
	return out
}

// folded is the golden text of what a replay's stream folds to, for clients of
// the session contract.
func folded(p *player) ([]byte, error) {
	f := fold.New(session.Session{ID: p.session, WorkspaceID: p.dir})
	for _, e := range p.envs {
		f.Apply(e)
	}
	text, err := fold.Encode(f.Transcript())
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(text)
	if err := v.Indent(jsontext.WithIndent(" "), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return nil, err
	}
	return append(v, '\n'), nil
}
