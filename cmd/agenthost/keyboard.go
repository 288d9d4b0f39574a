package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"sync/atomic"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/prompt"
)

// keyboard gives what a person types to whoever it is meant for: the next
// prompt while one is awaited, else the asks.
type keyboard struct {
	prompts, asks io.Reader
	// awaited says that the person is being asked for a prompt.
	awaited atomic.Bool
}

// newKeyboard reads lines of in until it ends. Its goroutine ends with the
// process: a terminal's read cannot be interrupted.
func newKeyboard(in io.Reader) *keyboard {
	promptsR, promptsW := io.Pipe()
	asksR, asksW := io.Pipe()
	k := &keyboard{prompts: promptsR, asks: asksR}
	go func() {
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadBytes('\n')
			to := asksW
			// Only one line: what is typed ahead belongs to the asks of its turn.
			if k.awaited.CompareAndSwap(true, false) {
				to = promptsW
			}
			if len(line) > 0 {
				_, _ = to.Write(line)
			}
			if err != nil {
				promptsW.CloseWithError(err)
				asksW.CloseWithError(err)
				return
			}
		}
	}()
	return k
}

// terminalInput is where a person's keys come from: standard input when it is a
// terminal, else the terminal behind it (standard input is a pipe of data). Nil
// when there is none. The closer is nil for standard input.
func terminalInput(st *streams) (io.Reader, io.Closer) {
	if !isTerminal(st.err) {
		return nil, nil
	}
	if isTerminal(st.in) {
		return st.in, nil
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return nil, nil
	}
	return tty, tty
}

// askAtTerminal asks a person about what no rule decides, until ctx is over.
func askAtTerminal(ctx context.Context, st *streams, k *keyboard, m *permission.Mediator, session string) {
	p := &prompt.Prompt{In: k.asks, Out: st.err, By: contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientCLI}, Color: os.Getenv("NO_COLOR") == ""}
	_ = p.Run(ctx, m, session) // ends with ctx, the mediator, or the input: asks stay open then
}
