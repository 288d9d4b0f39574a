package transcript

import (
	"encoding/json/jsontext"
	"time"

	"github.com/agenthost/agenthost/adapters"
)

// Version is the format's version, the header's member "transcript".
const Version = 1

// Header is the first line. Everything but Version may be missing.
type Header struct {
	// Version is 1.
	Version int `json:"transcript"`
	// Agent is the adapter's name, AgentVersion what the agent says it is.
	Agent        string `json:"agent,omitzero"`
	AgentVersion string `json:"version,omitzero"`
	// Note is for people.
	Note string `json:"note,omitzero"`
	// Start is the time of t = 0 in Unix milliseconds, 0 when not known.
	Start int64 `json:"start,omitzero"`
	// Dir is the session's working directory.
	Dir string `json:"dir,omitzero"`
	// Session is the host's session id.
	Session string `json:"session,omitzero"`
	// Face is that of the child, empty for pipes.
	Face adapters.Face `json:"face,omitzero"`
	// Command is the argv of the child.
	Command []string `json:"command,omitempty"`
	Client  *Client  `json:"client,omitzero"`
	// NativeOpened is SessionInfo.NativeOpened in Unix milliseconds.
	NativeOpened int64    `json:"nativeOpened,omitzero"`
	Options      *Options `json:"options,omitzero"`
	// Extra holds members of a newer writer.
	Extra jsontext.Value `json:",embed"`
}

// Client is adapters.ClientInfo on the wire.
type Client struct {
	Name    string `json:"name,omitzero"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version,omitzero"`
}

// Options is adapters.Options on the wire.
type Options struct {
	Model           string            `json:"model,omitzero"`
	Mode            string            `json:"mode,omitzero"`
	Thinking        string            `json:"thinking,omitzero"`
	Sandbox         bool              `json:"sandbox,omitzero"`
	Resume          string            `json:"resume,omitzero"`
	Continue        bool              `json:"continue,omitzero"`
	Fork            string            `json:"fork,omitzero"`
	ForkAt          string            `json:"forkAt,omitzero"`
	Dirs            []string          `json:"dirs,omitempty"`
	MCPServers      []MCPServer       `json:"mcpServers,omitempty"`
	SystemPrompt    string            `json:"systemPrompt,omitzero"`
	AllowBypass     bool              `json:"allowBypass,omitzero"`
	MaxTurns        int               `json:"maxTurns,omitzero"`
	BudgetUSD       float64           `json:"budgetUSD,omitzero"`
	AllowedTools    []string          `json:"allowedTools,omitempty"`
	DisallowedTools []string          `json:"disallowedTools,omitempty"`
	Settings        map[string]string `json:"settings,omitempty"`
}

// MCPServer is adapters.MCPServer on the wire.
type MCPServer struct {
	Name      string   `json:"name"`
	Transport string   `json:"transport,omitzero"`
	Command   string   `json:"command,omitzero"`
	Args      []string `json:"args,omitempty"`
	Env       []Pair   `json:"env,omitempty"`
	URL       string   `json:"url,omitzero"`
	Headers   []Pair   `json:"headers,omitempty"`
}

// Pair is adapters.Pair on the wire.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Masked stands for the values of an MCP server's environment and headers,
// which NewHeader leaves out: that is where people put tokens.
const Masked = "***"

// NewHeader makes the header for a session of agent. Values of MCP servers'
// environments and headers are Masked.
func NewHeader(agent string, info adapters.SessionInfo) Header {
	h := Header{Version: Version, Agent: agent, Dir: info.Dir, Session: info.ID, Face: info.Face}
	if c := Client(info.Client); c != (Client{}) {
		h.Client = &c
	}
	if !info.NativeOpened.IsZero() {
		h.NativeOpened = info.NativeOpened.UnixMilli()
	}
	o := info.Options
	h.Options = &Options{
		Model: o.Model, Mode: o.Mode, Thinking: o.Thinking, Sandbox: o.Sandbox,
		Resume: o.Resume, Continue: o.Continue, Fork: o.Fork, ForkAt: o.ForkAt, Dirs: o.Dirs,
		SystemPrompt: o.SystemPrompt, AllowBypass: o.AllowBypass, MaxTurns: o.MaxTurns, BudgetUSD: o.BudgetUSD,
		AllowedTools: o.AllowedTools, DisallowedTools: o.DisallowedTools, Settings: o.Settings,
	}
	for _, s := range o.MCPServers {
		h.Options.MCPServers = append(h.Options.MCPServers, MCPServer{
			Name: s.Name, Transport: s.Transport, Command: s.Command, Args: s.Args,
			Env: masked(s.Env), URL: s.URL, Headers: masked(s.Headers),
		})
	}
	return h
}

func masked(in []adapters.Pair) []Pair {
	var out []Pair
	for _, p := range in {
		out = append(out, Pair{Name: p.Name, Value: Masked})
	}
	return out
}

// SessionInfo is what to give to Adapter.NewProtocol for a replay.
func (h Header) SessionInfo() adapters.SessionInfo {
	info := adapters.SessionInfo{ID: h.Session, Dir: h.Dir, Face: h.Face}
	if h.Client != nil {
		info.Client = adapters.ClientInfo(*h.Client)
	}
	if h.NativeOpened != 0 {
		info.NativeOpened = time.UnixMilli(h.NativeOpened).UTC()
	}
	if h.Options == nil {
		return info
	}
	o := h.Options
	info.Options = adapters.Options{
		Model: o.Model, Mode: o.Mode, Thinking: o.Thinking, Sandbox: o.Sandbox,
		Resume: o.Resume, Continue: o.Continue, Fork: o.Fork, ForkAt: o.ForkAt, Dirs: o.Dirs,
		SystemPrompt: o.SystemPrompt, AllowBypass: o.AllowBypass, MaxTurns: o.MaxTurns, BudgetUSD: o.BudgetUSD,
		AllowedTools: o.AllowedTools, DisallowedTools: o.DisallowedTools, Settings: o.Settings,
	}
	for _, s := range o.MCPServers {
		info.Options.MCPServers = append(info.Options.MCPServers, adapters.MCPServer{
			Name: s.Name, Transport: s.Transport, Command: s.Command, Args: s.Args,
			Env: pairs(s.Env), URL: s.URL, Headers: pairs(s.Headers),
		})
	}
	return info
}

func pairs(in []Pair) []adapters.Pair {
	var out []adapters.Pair
	for _, p := range in {
		out = append(out, adapters.Pair(p))
	}
	return out
}
