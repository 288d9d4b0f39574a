package contract_test

import (
	"fmt"

	"github.com/agenthost/agenthost/contract"
)

func ExampleDecode() {
	_, err := contract.Decode([]byte(`{"id":"m1","time":1000,"role":"agent","ev":{"t":"turn-end","status":"completed","usage":{"inputTokens":"12","outputTokens":3}}}`))
	fmt.Println(err)
	// Output: ev.usage.inputTokens: want integer >= 0, got string
}

func ExampleStrict() {
	e := contract.Envelope{
		ID: "m1", Time: 1000, Role: contract.RoleAgent, Turn: "t1", Origin: "msg_01",
		Event: contract.ToolCallEnd{Call: "c1", Result: &contract.ToolResult{Status: contract.ToolCompleted}},
	}
	strict, ok := contract.Strict(e)
	line, err := contract.Encode(strict)
	fmt.Println(ok, string(line), err)
	// Output: true {"id":"m1","time":1000,"role":"agent","turn":"t1","ev":{"t":"tool-call-end","call":"c1"}} <nil>
}

func ExampleValidator() {
	v := contract.NewValidator(contract.ProfileExtended)
	for i, line := range []string{
		`{"id":"m1","time":1000,"role":"agent","turn":"t1","ev":{"t":"turn-start"}}`,
		`{"id":"m2","time":1001,"role":"agent","turn":"t1","ev":{"t":"tool-call-end","call":"c1"}}`,
	} {
		for _, f := range v.CheckLine(i+1, []byte(line)) {
			fmt.Println(f)
		}
	}
	for _, f := range v.Finish(3) {
		fmt.Println(f)
	}
	// Output:
	// 2: ev.call: want open call, got "c1"
	// 3: turn: want turn-end of turn "t1", got end of stream
}
