package client_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/wire"
)

// A program that starts a session, watches it and answers its permission request. The
// server here is one for tests, whose agent repeats what it is told.
func Example() {
	host := gatewaytest.New()
	tokens := &gatewaytest.Tokens{}
	tokens.Set("secret", gateway.Principal{Caller: wire.Caller{TokenID: "phone-1", Scope: wire.ScopeControl, ClientType: contract.ClientPhone}, Backend: host})
	server := httptest.NewServer(gateway.New(gateway.Options{Auth: tokens}))
	defer server.Close()

	ctx := context.Background()
	c, err := client.Dial(ctx, server.URL, client.Options{Token: "secret"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	session, err := c.Spawn(ctx, wire.SpawnParams{Agent: "echo", Dir: "/work", Prompt: &wire.SendParams{Text: "hello"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	host.Ask(session.ID, "call-1") // the agent wants something

	for item, err := range c.Subscribe(ctx, client.Subscription{Session: session.ID}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if item.Envelope == nil {
			continue // metadata, or something that passes
		}
		envelope, err := contract.Decode(item.Envelope)
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := envelope.Event.(type) {
		case contract.Text:
			fmt.Printf("%s: %s\n", envelope.Role, ev.Text)
		case contract.PermissionRequest:
			fmt.Println("asks:", ev.Title)
			_, err := c.Decide(ctx, wire.DecideParams{Session: session.ID, Call: ev.Call, Decision: contract.AllowOnce})
			if err != nil {
				fmt.Println(err)
			}
		case contract.PermissionResponse:
			fmt.Printf("%s by the %s\n", ev.Decision, ev.By.ClientType)
			return
		}
	}
	// Output:
	// user: hello
	// agent: hello
	// asks: Run `make`
	// allow-once by the phone
}
