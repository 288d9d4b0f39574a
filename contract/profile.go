package contract

import "fmt"

// Profile says which members an envelope may carry.
type Profile string

// The two profiles.
const (
	// ProfileExtended is the draft and agenthost's optional members. It is the default.
	ProfileExtended Profile = "extended"
	// ProfileStrict is the draft's tables and nothing more.
	ProfileStrict Profile = "strict"
)

// ParseProfile reads the value of a flag or setting; empty means extended.
func ParseProfile(s string) (Profile, error) {
	switch p := Profile(s); p {
	case "":
		return ProfileExtended, nil
	case ProfileExtended, ProfileStrict:
		return p, nil
	}
	return "", fmt.Errorf("profile: want extended or strict, got %q", s)
}

// Apply returns e as the profile shows it. ok is false when the profile has no
// place for e and it must be left out.
func (p Profile) Apply(e Envelope) (_ Envelope, ok bool) {
	if p == ProfileStrict {
		return Strict(e)
	}
	return e, true
}

// Strict returns e with the members of the draft alone, at every level. A cost
// that is not known becomes 0. It shares raw members with e and changes nothing
// of it.
//
// ok is false when the draft cannot express e at all: an event of a type it does
// not have. Leaving such an envelope out leaves the stream valid.
func Strict(e Envelope) (_ Envelope, ok bool) {
	e.Origin, e.Extra = "", nil
	e.Event = strictEvent(e.Event)
	return e, e.Event != nil
}

func strictEvent(ev Event) Event {
	switch ev := ev.(type) {
	case Text:
		return Text{Text: ev.Text, Thinking: ev.Thinking, Steer: ev.Steer}
	case File:
		return strictFile(ev)
	case TurnStart:
		return TurnStart{}
	case TurnEnd:
		return strictTurnEnd(ev)
	case ToolCallStart:
		ev.Native, ev.Extra = "", nil
		return ev
	case ToolCallEnd:
		return ToolCallEnd{Call: ev.Call}
	case Service:
		return Service{Text: ev.Text}
	case SubagentStart:
		return SubagentStart{AgentID: ev.AgentID, Title: ev.Title}
	case SubagentStop:
		return SubagentStop{AgentID: ev.AgentID}
	case SessionControlChanged:
		return SessionControlChanged{ClientType: ev.ClientType, TokenID: ev.TokenID}
	case PermissionRequest:
		return PermissionRequest{Call: ev.Call, ToolName: ev.ToolName, Title: ev.Title, Description: ev.Description, Args: ev.Args}
	case PermissionResponse:
		return PermissionResponse{Call: ev.Call, Decision: ev.Decision}
	case Abort:
		return Abort{}
	case AgentConfigurationChanged:
		return strictConfiguration(ev)
	}
	return nil
}

func strictFile(ev File) File {
	ev.Extra = nil
	if ev.Image != nil {
		ev.Image = &Image{Width: ev.Image.Width, Height: ev.Image.Height, Thumbhash: ev.Image.Thumbhash}
	}
	return ev
}

func strictTurnEnd(ev TurnEnd) TurnEnd {
	strict := TurnEnd{Status: ev.Status}
	if u := ev.Usage; u != nil {
		cost := u.Cost
		if cost == nil {
			cost = new(float64)
		}
		strict.Usage = &Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, Cost: cost}
	}
	return strict
}

// strictConfiguration leaves out a mode that is an agent's own: the draft names four.
func strictConfiguration(ev AgentConfigurationChanged) AgentConfigurationChanged {
	ev.Agent, ev.From, ev.Extra = "", nil, nil
	if !oneOf(ev.PermissionMode, permissionModes()) {
		ev.PermissionMode = ""
	}
	return ev
}
