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
	launch, err := t.LaunchTerminal(adapters.TerminalRequest{
		LaunchRequest: adapters.LaunchRequest{
			Dir: info.Dir, SessionID: info.ID, StateDir: "/state", Getenv: getenv, Options: info.Options,
		},
		Hook: "hook", HookClosed: "hook --closed", SocketDir: "/run/agenthost",
	})
	if err != nil {
		launch = adapters.Launch{}
	}
	return t.NewTerminalProtocol(adapters.TerminalInfo{SessionInfo: info, Launch: launch, Getenv: getenv})
}
