package gateway

import (
	"encoding/json/jsontext"
	"net/http"

	"github.com/agenthost/agenthost/relay/wire"
)

// Route is one line of the HTTP face. Routes, the handlers and /openapi.json are made
// of the same table.
type Route struct {
	Method, Path string
	// Wire is the method of the WebSocket that it stands for, empty for none.
	Wire    string
	Summary string
	// Query are the parameters of the URL.
	Query []Param
	// Body is a zero value of the body's type, nil for none; Raw says that the body
	// is bytes.
	Body any
	Raw  bool
	// Result is a zero value of the answer's type, nil for none; Status its status.
	Result any
	Status int
	// Stream says that it can be had as server-sent events and, of envelopes and
	// events, as lines.
	Stream bool
	// Text says that it can be had as plain text.
	Text bool
}

// Param is a parameter of a URL.
type Param struct {
	Name, Type, About string
}

type route struct {
	Route
	open   bool // without a token
	handle func(*Gateway, http.ResponseWriter, *http.Request, Principal) error
}

// scope is what the token needs.
func (r route) scope() wire.Scope {
	if m, ok := wire.MethodOf(r.Wire); ok {
		return m.Scope
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return wire.ScopeView
	}
	return wire.ScopeControl
}

// Routes lists the HTTP face.
func Routes() []Route {
	var out []Route
	for _, r := range routes() {
		out = append(out, r.Route)
	}
	return out
}

func routes() []route {
	list := []route{
		{Route{Method: "GET", Path: "/v1/ws", Summary: "The WebSocket: JSON-RPC, subprotocol agenthost.v1", Status: 101}, false, (*Gateway).serveSocket},
		{Route{Method: "GET", Path: "/openapi.json", Summary: "This document", Status: 200}, true, (*Gateway).serveOpenAPI},

		get("/v1/hosts", wire.HostsList, "Hosts, and whether they are there", false, (*Gateway).getHosts),
		get("/v1/sessions", wire.SessionsList, "Sessions, the newest first; as a stream also what changes", true, (*Gateway).getSessions,
			Param{"host", "string", "only of this host"}, Param{"dir", "string", "only of this working directory"}),
		command("POST", "/v1/sessions", wire.SessionSpawn, "Start a session", http.StatusCreated),
		get("/v1/sessions/{session}", wire.SessionGet, "A session's metadata", false, (*Gateway).getSession),
		command("PATCH", "/v1/sessions/{session}", wire.SessionUpdate, "Change title or archived, by compare and swap", http.StatusOK),
		command("DELETE", "/v1/sessions/{session}", wire.SessionRemove, "Remove a session and its journal", http.StatusNoContent),
		stream("/v1/sessions/{session}/envelopes", wire.EnvelopesPage{}, "Envelopes from a position on", (*Gateway).getEnvelopes),
		stream("/v1/sessions/{session}/events", wire.EventsPage{}, "Events of the session contract from a position on", (*Gateway).getEvents),
		{Route{
			Method: "GET", Path: "/v1/sessions/{session}/transcript", Wire: wire.SessionSubscribe, Result: wire.TranscriptResult{}, Status: 200,
			Summary: "The transcript as it is now; go on with events from next", Query: []Param{profileParam},
		}, false, (*Gateway).getTranscript},
		command("GET", "/v1/sessions/{session}/asks", wire.SessionAsks, "Open permission requests and questions", http.StatusOK),
		command("POST", "/v1/sessions/{session}/messages", wire.SessionSend, "Send a message", http.StatusOK),
		command("POST", "/v1/sessions/{session}/abort", wire.SessionAbort, "End the running turn", http.StatusOK),
		command("POST", "/v1/sessions/{session}/permissions/{call}", wire.SessionDecide, "Answer a permission request or a question", http.StatusOK),
		command("POST", "/v1/sessions/{session}/config", wire.SessionConfigure, "Change model, mode, thinking or sandbox", http.StatusOK),
		command("POST", "/v1/sessions/{session}/control", wire.SessionControl, "Take control", http.StatusOK),
		command("POST", "/v1/sessions/{session}/ops/{name}", wire.SessionOp, "Run an operation of the agent: rewind, fork, …", http.StatusOK),
		command("POST", "/v1/sessions/{session}/resume", wire.SessionResume, "Start the agent of a stopped session again", http.StatusOK),
		command("POST", "/v1/sessions/{session}/stop", wire.SessionStop, "End the agent; the session can be gone on with", http.StatusOK),

		screenRoute(),
		command("POST", "/v1/sessions/{session}/terminal/read", wire.TerminalRead, "What the agent's screen shows from an offset on; waits for it", http.StatusOK),
		command("POST", "/v1/sessions/{session}/terminal/input", wire.TerminalInput, "Type at the agent's keyboard, as the holder of control, from another machine with the scope admin", http.StatusOK),
		command("POST", "/v1/sessions/{session}/terminal/size", wire.TerminalResize, "Give the agent's screen a size, as the holder of control", http.StatusNoContent),

		{Route{Method: "POST", Path: "/v1/files", Summary: "Begin an upload", Body: wire.UploadParams{}, Result: wire.Upload{}, Status: 201}, false, (*Gateway).createFile},
		{Route{Method: "HEAD", Path: "/v1/files/{ref}", Summary: "How far an upload is: Upload-Offset", Status: 200}, false, (*Gateway).statFile},
		{Route{Method: "PATCH", Path: "/v1/files/{ref}", Summary: "Go on with an upload at the header Upload-Offset", Raw: true, Result: wire.Upload{}, Status: 200}, false, (*Gateway).appendFile},
		{Route{Method: "GET", Path: "/v1/files/{ref}", Summary: "A file's bytes", Status: 200}, false, (*Gateway).readFile},
	}
	return list
}

var profileParam = Param{"profile", "string", "extended (default) or strict: the draft's members alone"}

func get(path, method, summary string, stream bool, handle func(*Gateway, http.ResponseWriter, *http.Request, Principal) error, query ...Param) route {
	return route{Route{
		Method: "GET", Path: path, Wire: method, Summary: summary, Query: query, Result: shapeOf(method).Result, Status: http.StatusOK, Stream: stream,
	}, false, handle}
}

func stream(path string, result any, summary string, handle func(*Gateway, http.ResponseWriter, *http.Request, Principal) error) route {
	return route{Route{
		Method: "GET", Path: path, Wire: wire.SessionSubscribe, Summary: summary, Result: result, Status: http.StatusOK, Stream: true,
		Query: []Param{
			{"from", "integer", "the first position wanted: 0 by default, -1 for what comes from now on"},
			{"limit", "integer", "of a page: how many envelopes, 100 by default and at most 1000"},
			{"live", "boolean", "of an event stream: deltas and asks as they come as well"},
			{"follow", "boolean", "of lines: go on with what comes"},
			profileParam,
		},
	}, false, handle}
}

// command is a route that is a command, with the path's names in its params.
func command(method, path, name, summary string, status int) route {
	s := shapeOf(name)
	r := Route{Method: method, Path: path, Wire: name, Summary: summary, Result: s.Result, Status: status}
	if method == "POST" || method == "PATCH" {
		r.Body = s.Params
	}
	return route{r, false, func(g *Gateway, w http.ResponseWriter, req *http.Request, p Principal) error {
		mem := g.budget.connection(p)
		defer mem.close()
		params, err := g.params(w, req, mem, s, r.Body != nil)
		if err != nil {
			return err
		}
		result, err := g.command(req.Context(), p.Backend, p.Caller, name, params)
		if err != nil {
			return err
		}
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return nil
		}
		if method == http.MethodGet { // else it is done, and must not be said to be refused
			if err := mem.try(copies * len(result)); err != nil {
				return err
			}
		}
		if len(result) == 0 {
			result = jsontext.Value("null")
		}
		g.writeJSON(w, status, result)
		return nil
	}}
}

// shapeOf is what a method carries; there is one for each.
func shapeOf(method string) wire.Shape {
	for _, s := range wire.Shapes() {
		if s.Name == method {
			return s
		}
	}
	return wire.Shape{Name: method}
}
