// Package agentlab runs the real agent CLIs against a scripted model, for
// end-to-end tests and demonstrations.
//
//	func TestMain(m *testing.M) { agentlab.Main(m) }
//
//	func TestHello(t *testing.T) {
//		lab := agentlab.New(t)
//		argv := lab.Command("gemini", "--acp")
//		cmd := exec.Command(argv[0], argv[1:]...)
//		cmd.Env, cmd.Dir = lab.Env("gemini"), lab.Dir
//		// talk to it: "SCRIPT: shell touch a.txt ;; text done"
//		// then look at lab.Model.Played() and at lab.Dir
//	}
//
// A Lab is a home directory with the configuration of every agent, a working
// directory that is a git repository of its own, a scripted model (package
// scriptmodel) on a loopback port and an environment that mentions nothing else:
// fake keys, no proxy, no variable of the caller's. Agents find each other and a
// fitting Node on the PATH of that environment.
//
// # Guarantees
//
// Main runs the tests in a network namespace that has nothing but loopback, where
// the system allows it, so that no agent can reach anybody. It installs the
// agents before that (npm ci in e2e/agents, only if they are missing or other
// than the lock file says). A process that was started with a lab's environment,
// or that works in its directories, is found by Leftovers however it detached
// itself; New makes one that is left at the end of the test an error, and Close
// kills those that carry the lab's mark. When a test run crashes or times out, the
// process that Main left outside does the same for all its labs. Nothing outside
// the lab's directory and node_modules is written.
//
// Directories are made below .cache/lab in the repository (AGENTLAB_DIR names
// another place) with mode 0700, because gemini ignores settings files below a
// directory that others can write, such as /tmp. AGENTLAB_KEEP=1 keeps them.
// AGENTLAB_PATH stands before the pinned agents on the PATH, for another version.
//
// Real agents are slow to start (gemini 1 to 3 s, opencode up to 15 s on a busy
// machine): give them a minute.
//
// # Non-goals
//
// It is no sandbox: an agent can do to the file system what the user can. It
// does not translate protocols; that is what is being tested.
//
// # Testing
//
// go test ./internal/agentlab runs each agent through a text and a tool call;
// -short skips the agents.
package agentlab
