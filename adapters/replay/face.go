package replay

import "github.com/agenthost/agenthost/adapters"

// Protocol makes the Protocol of a child, in its face. A transcript does not tell how
// the child was launched, which a Protocol in the terminal face is told: it gets a
// launch of places that stand in for the real ones.
func Protocol(a adapters.Adapter, info adapters.SessionInfo) adapters.Protocol {
	t, ok := a.(adapters.TerminalAdapter)
	if info.Face != adapters.FaceTerminal || !ok {
		return a.NewProtocol(info)
	}
	getenv := func(name string) string {
		if name == "HOME" {
			return "/home/u"
		}
		return ""
	}
	launch, err := t.LaunchTerminal(TerminalRequest(adapters.LaunchRequest{
		Dir: info.Dir, SessionID: info.ID, StateDir: "/state", Getenv: getenv, Options: info.Options,
	}))
	if err != nil {
		launch = adapters.Launch{}
	}
	return t.NewTerminalProtocol(adapters.TerminalInfo{SessionInfo: info, Launch: launch, Getenv: getenv})
}

// TerminalRequest asks for a launch in the terminal face at places that stand in for
// the real ones.
func TerminalRequest(r adapters.LaunchRequest) adapters.TerminalRequest {
	return adapters.TerminalRequest{LaunchRequest: r, Hook: "hook", HookClosed: "hook --closed", SocketDir: "/run/agenthost"}
}
