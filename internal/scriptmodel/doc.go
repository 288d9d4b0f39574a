// Package scriptmodel is a language model that says what its prompt tells it to
// say. It speaks the four model APIs that coding agents use, streaming and
// whole, so that real agents can be driven through text, thoughts, tool calls
// and every kind of failure without a network, an account or chance.
//
//	Gemini            POST /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens
//	OpenAI Responses  POST /v1/responses
//	OpenAI chat       POST /v1/chat/completions
//	Anthropic         POST /v1/messages, /v1/messages/count_tokens
//	model lists       GET  /v1/models[/{model}], /v1beta/models[/{model}]
//	control           GET  /script/requests, POST /script/release/{name}
//
// # Scripts
//
// The script is part of the prompt: in the last user text that holds a line
// beginning with SCRIPT: it is the rest of that line and the lines after it, up
// to the first empty line, a line beginning with </ or the end of the text.
//
//	Please do the usual.
//	SCRIPT: text I will look. ++ shell ls -la
//	write notes.txt "first line\nsecond line\n"
//	text All done.
//
// A script is a list of steps, divided by line ends or " ;; ". One step answers
// one model request of the turn: the script above makes a text and a shell call,
// then (the agent has run ls and asks again) a write call, then a closing text.
// A step is a list of acts, divided by " ++ "; a line that begins with "++ "
// goes on with the step of the line before. Several calls in one step are
// parallel calls. Dividers inside a double-quoted string are not dividers. A
// line beginning with # is a comment.
//
// An act is a verb and its arguments. WORD is one word or a JSON string in
// double quotes; TEXT is everything to the end of the act, or one JSON string.
//
//	text TEXT               say TEXT, one chunk a word
//	chunks N SIZE           say N numbered chunks of SIZE characters
//	think TEXT              think TEXT (a reasoning summary, a thought part, reasoning_content)
//	tool NAME [{JSON}]      call the tool by its native name; a custom (free text) tool gets "input";
//	                        NAMESPACE/NAME for one that is not offered and stands in a namespace
//	mcp SERVER TOOL [{JSON}]  call an MCP tool under the name this agent offers it by
//	shell TEXT              call the shell tool     \
//	write WORD TEXT         write the file WORD      | under whatever name and with whatever
//	edit WORD WORD TEXT     replace the second WORD  | arguments the request offers such a tool
//	read WORD               read the file WORD       |
//	task TEXT               start a sub-agent, wait /
//	empty                   answer without any content
//	raw TEXT                send TEXT as the data of one stream event (unknown events, grease)
//
//	usage IN OUT [CACHED [THINKING]]   tokens to report (100 in, 10 out otherwise); IN includes CACHED
//	finish max_tokens|safety|malformed|stop   why the answer ends
//	slow MS                 wait MS milliseconds before every following chunk
//	wait MS                 wait once
//	hold WORD               wait until Server.Release(WORD) (or POST /script/release/WORD)
//
//	error STATUS [TEXT]     answer with an HTTP error; must come before any content
//	fail WORD [TEXT]        end the stream with an error event of type WORD
//	drop                    cut the connection here
//	badsse                  send half a JSON document as an event and end the stream
//	hang                    say nothing more until the client goes away
//
// A text or thought that stands right before fail, drop, badsse or hang is left
// unfinished (put "wait 0" between them to finish it first).
//
// error, fail, drop, badsse, hang and empty happen at every attempt. A count
// after the verb limits that: "error once 503 overloaded", "drop 2x". When it is
// used up the rest of the step is played, so that a retry succeeds. A tool call
// can be given an id with @: "shell@call_1 ls".
//
// In the JSON of tool and mcp, "$(NAME)" is what the newest tool result of the
// conversation says behind NAME, as a number if it is one: the value of a member
// ("agent_id":"…") or a word of a sentence ("session ID 4711" for $(session_id)).
//
// Acts that say nothing (think, usage, finish, slow, wait, hold, error …) on a
// step of their own belong to the next step:
//
//	SCRIPT: error once 503 overloaded
//	usage 1200 34
//	text Hello again.
//
// is one step. The prompt of a sub-agent may hold a script of its own:
//
//	SCRIPT: task "SCRIPT: shell ls ;; text found it" ;; text The sub-agent is done.
//
// # Which step comes next
//
// The server keeps no sessions. The next step is the number of model answers
// that stand in the request's own history after the user text with the script,
// so resumed, forked and parallel sessions work. A later user text without a
// script (a steer, "go on") goes on with the same script. When the script is
// used up the answer is "done.", or "You said: …" for a later user text. Only
// the counts (once, 2x) live in the server, per script and place in it; two
// sessions that shall not share them need scripts that differ, by a comment for
// instance.
//
// A prompt without a script is answered with "You said: …". A script that cannot
// be read, or an alias (shell, write, …) that finds no fitting tool, is answered
// with a text beginning with "scriptmodel:" that says why.
//
// # The agents' own requests
//
// Agents also ask the model on their own behalf: which model to use, who speaks
// next, a title for the session, whether the account works. A request that wants
// JSON by a schema gets the smallest value that fits it, a title request gets
// "Scripted session", a one-token probe gets one word; scripts are not looked at.
// The one exception is the OpenAI Responses API, where people use schemas, too
// (codex exec --output-schema): there a script in the last message is played,
// unless all that is wanted is a title.
//
// # Guarantees
//
// Same requests in the same order give the same bytes (no clock, no randomness);
// call ids are unique within a server. Every request is recorded with how it
// ended. A Server is safe for concurrent use; Close ends what hangs or holds. It
// is no model of quality, speed, token counts or of API validation: it accepts
// whatever it can read.
//
// # Testing
//
// go test ./internal/scriptmodel compares the stream bodies of each API with the
// files in testdata (-update rewrites them); go test ./internal/agentlab puts
// real agents in front of it.
package scriptmodel
