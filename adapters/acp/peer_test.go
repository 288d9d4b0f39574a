package acp

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	peer "github.com/coder/acp-go-sdk"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// peerAgent is an agent on an implementation of the protocol by other people.
type peerAgent struct {
	conn  *peer.AgentSideConnection
	modes []string
}

func (a *peerAgent) Initialize(context.Context, peer.InitializeRequest) (peer.InitializeResponse, error) {
	return peer.InitializeResponse{
		ProtocolVersion:   peer.ProtocolVersionNumber,
		AgentCapabilities: peer.AgentCapabilities{LoadSession: true, PromptCapabilities: peer.PromptCapabilities{Image: true}},
	}, nil
}

func (a *peerAgent) Authenticate(context.Context, peer.AuthenticateRequest) (peer.AuthenticateResponse, error) {
	return peer.AuthenticateResponse{}, nil
}

func (a *peerAgent) NewSession(_ context.Context, r peer.NewSessionRequest) (peer.NewSessionResponse, error) {
	return peer.NewSessionResponse{SessionId: "peer-1", Modes: &peer.SessionModeState{
		CurrentModeId:  "code",
		AvailableModes: []peer.SessionMode{{Id: "code", Name: "Code"}, {Id: "plan", Name: "Plan"}},
	}}, nil
}

func (a *peerAgent) SetSessionMode(_ context.Context, r peer.SetSessionModeRequest) (peer.SetSessionModeResponse, error) {
	a.modes = append(a.modes, string(r.ModeId))
	return peer.SetSessionModeResponse{}, nil
}

func (a *peerAgent) SetSessionConfigOption(context.Context, peer.SetSessionConfigOptionRequest) (peer.SetSessionConfigOptionResponse, error) {
	return peer.SetSessionConfigOptionResponse{}, nil
}

func (a *peerAgent) ListSessions(context.Context, peer.ListSessionsRequest) (peer.ListSessionsResponse, error) {
	return peer.ListSessionsResponse{}, nil
}

func (a *peerAgent) ResumeSession(context.Context, peer.ResumeSessionRequest) (peer.ResumeSessionResponse, error) {
	return peer.ResumeSessionResponse{}, nil
}

func (a *peerAgent) CloseSession(context.Context, peer.CloseSessionRequest) (peer.CloseSessionResponse, error) {
	return peer.CloseSessionResponse{}, nil
}

func (a *peerAgent) Cancel(context.Context, peer.CancelNotification) error { return nil }

func (a *peerAgent) Prompt(ctx context.Context, p peer.PromptRequest) (peer.PromptResponse, error) {
	update := func(u peer.SessionUpdate) {
		_ = a.conn.SessionUpdate(ctx, peer.SessionNotification{SessionId: p.SessionId, Update: u})
	}
	if p.Prompt[0].Text.Text == "wait" {
		update(peer.UpdateAgentMessageText("waiting"))
		<-ctx.Done() // until session/cancel
		return peer.PromptResponse{StopReason: peer.StopReasonCancelled}, nil
	}
	update(peer.UpdateAgentThoughtText("first "))
	update(peer.UpdateAgentThoughtText("think"))
	update(peer.UpdateAgentMessageText("I'll edit."))
	update(peer.StartToolCall("call_1", "Edit config", peer.WithStartKind(peer.ToolKindEdit),
		peer.WithStartStatus(peer.ToolCallStatusPending), peer.WithStartRawInput(map[string]any{"path": "/w/c.json"})))
	got, err := a.conn.RequestPermission(ctx, peer.RequestPermissionRequest{
		SessionId: p.SessionId,
		ToolCall:  peer.ToolCallUpdate{ToolCallId: "call_1", Title: peer.Ptr("Edit config")},
		Options: []peer.PermissionOption{
			{Kind: peer.PermissionOptionKindAllowOnce, Name: "Allow", OptionId: "allow"},
			{Kind: peer.PermissionOptionKindRejectOnce, Name: "Reject", OptionId: "reject"},
		},
	})
	if err != nil {
		return peer.PromptResponse{}, err
	}
	if got.Outcome.Selected == nil || got.Outcome.Selected.OptionId != "allow" {
		update(peer.UpdateAgentMessageText("As you wish."))
		return peer.PromptResponse{StopReason: peer.StopReasonEndTurn}, nil
	}
	update(peer.UpdateToolCall("call_1", peer.WithUpdateStatus(peer.ToolCallStatusCompleted),
		peer.WithUpdateContent([]peer.ToolCallContent{peer.ToolDiffContent("/w/c.json", "b\n", "a\n")})))
	update(peer.UpdateAgentMessageText("Done."))
	return peer.PromptResponse{StopReason: peer.StopReasonEndTurn}, nil
}

// wire connects a bench to an agent that runs in this process.
type wire struct {
	*bench
	toAgent io.Writer
	lines   chan string
	sent    int
}

func connect(t *testing.T, a *peerAgent) *wire {
	fromUs, toAgent := io.Pipe()
	fromAgent, toUs := io.Pipe()
	a.conn = peer.NewAgentSideConnection(a, toUs, fromUs)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	w := &wire{bench: newBench(t, fake, adapters.Options{}), toAgent: toAgent, lines: make(chan string)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(fromAgent); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		toAgent.Close()
		<-a.conn.Done()
		toUs.Close()
		for {
			select {
			case <-w.lines:
			case <-read:
				return
			}
		}
	})
	return w
}

// until runs the loop of a host until the condition holds.
func (w *wire) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		for ; w.sent < len(w.written); w.sent++ {
			if _, err := w.toAgent.Write(w.raw[w.sent]); err != nil {
				w.t.Fatal(err)
			}
		}
		if cond() {
			return
		}
		select {
		case l := <-w.lines:
			w.line(l)
		case <-deadline:
			w.t.Fatalf("waited too long for %s: %s", what, w.story())
		}
	}
}

// TestPeer talks to an agent on github.com/coder/acp-go-sdk.
func TestPeer(t *testing.T) {
	a := &peerAgent{}
	w := connect(t, a)
	w.submit(adapters.Open{ID: "open"})
	w.until("the session", w.opened)
	if w.done[0].Err != nil {
		t.Fatalf("opening: %v", w.done[0].Err)
	}
	for _, d := range []contract.Decision{contract.AllowOnce, contract.RejectOnce} {
		w.prompt()
		w.until("the ask", func() bool { return len(w.asks) > 0 })
		w.answer(d)
		w.until("the end", func() bool { return !w.turn })
	}
	w.submit(adapters.Configure{ID: "mode", Mode: contract.ModePlan})
	w.until("the mode", func() bool { return w.done[len(w.done)-1].ID == "mode" })
	if len(a.modes) != 1 || a.modes[0] != "plan" {
		t.Errorf("modes %q, want plan", a.modes)
	}
	w.submit(adapters.Prompt{ID: "p3", Text: "wait"})
	w.until("its wait", func() bool { return w.live[len(w.live)-1].Text == "waiting" })
	w.submit(adapters.Abort{})
	w.until("the end", func() bool { return !w.turn })
	w.want(`turn-start p1 | thinking first think | text I'll edit. | start call_1 edit {"path":"/w/c.json"} | ask call_1 | end call_1 completed | text Done. | turn-end completed | ` +
		`turn-start p2 | thinking first think | text I'll edit. | start call_1 edit {"path":"/w/c.json"} | ask call_1 | end call_1 error | text As you wish. | turn-end completed | ` +
		`config plan | turn-start p3 | text waiting | turn-end cancelled`)
	files := w.drafts[5].Event.(contract.ToolCallEnd).Result.Files
	if len(files) != 1 || files[0].Path != "c.json" || files[0].Additions != 1 {
		t.Errorf("files %+v", files)
	}
}
