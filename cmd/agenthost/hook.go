package main

import "github.com/agenthost/agenthost/internal/hook"

// hookCommand is the command that hooks of agents run: agenthost hook [--closed] SOCKET.
// It is no part of the command tree, so that it answers as fast as it can: an agent
// waits for it at each of its steps.
const hookCommand = "hook"

func runHook(args []string, st *streams) int { return hook.Run(args, st.in, st.out, st.err) }
