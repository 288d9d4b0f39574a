package fold_test

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
)

func ExampleFold() {
	f := fold.New(session.Session{ID: "sess1", WorkspaceID: "ws1"})
	for _, line := range []string{
		`{"id":"m1","time":1000,"role":"user","ev":{"t":"text","text":"Find all TODOs"}}`,
		`{"id":"m2","time":1100,"role":"agent","turn":"t1","ev":{"t":"turn-start"}}`,
		`{"id":"m3","time":1200,"role":"agent","turn":"t1","ev":{"t":"text","text":"There are none."}}`,
		`{"id":"m4","time":1300,"role":"agent","turn":"t1","ev":{"t":"turn-end","status":"completed"}}`,
	} {
		e, err := contract.Decode([]byte(line))
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, ev := range f.Apply(e) {
			fmt.Println(strings.TrimSpace(fmt.Sprint(ev.Type, " ", ev.MessageID, " ", ev.PartID)))
		}
	}
	for _, m := range f.Transcript().Messages {
		fmt.Printf("%s: %q %d parts\n", m.Type, m.Text, len(m.Parts))
	}
	// Output:
	// session.updated
	// message.start m1
	// message.end m1
	// session.status
	// message.start m2
	// part.start m2 m2-text-1
	// part.end m2 m2-text-1
	// message.end m2
	// session.status
	// session.updated
	// user: "Find all TODOs" 0 parts
	// assistant: "" 1 parts
}
