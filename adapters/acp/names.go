package acp

import (
	"strings"
	"unicode"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// canonicalNames maps the tool names of ACP agents, in plain form (see plainName),
// to the contract's. One table serves all agents: no two of them use one name for
// different deeds. A spec can add to it.
var canonicalNames = func() map[string]string {
	table := map[string]string{}
	for name, natives := range map[string]string{
		"bash": "bash shell runshellcommand execcommand execute executecommand terminal runterminalcmd runterminalcommand " +
			"runcommand runinterminal powershell localshell unifiedexec launchprocess shellcommand developershell",
		"read":          "read readfile readmanyfiles readtextfile view viewfile openfile readfiles fileread cat",
		"write":         "write writefile create createfile writetofile savefile filewrite",
		"edit":          "edit replace multiedit strreplace strreplaceeditor editfile applypatch patch searchreplace applydiff replaceinfile replaceinfiles developertexteditor",
		"delete":        "delete deletefile remove removefile rm removefiles",
		"move":          "move rename movefile renamefile mv",
		"list":          "list ls listdirectory listfiles listdir readfolder",
		"glob":          "glob findfiles filesearch globfiles",
		"grep":          "grep search searchfilecontent grepsearch searchfiles ripgrep codebasesearch searchtext",
		"web-fetch":     "webfetch fetch fetchurl readurl urlfetch fetchwebpage",
		"web-search":    "websearch googlewebsearch searchweb websearchprime",
		"todo":          "todo todowrite todoread writetodos settodolist updatetodos taskcreate taskupdate tasklist taskget updatetodolist",
		"plan":          "plan updateplan exitplanmode enterplanmode switchmode planexit planenter createplan presentplan",
		"task":          "task agent invokeagent spawnagent subagent newtask delegate dispatchagent",
		"ask-user":      "askuser askuserquestion question askfollowupquestion requestuserinput",
		"view-image":    "viewimage readimage",
		"think":         "think sequentialthinking updatetopic reportintent",
		"notebook-edit": "notebookedit editnotebook",
		"skill":         "skill activateskill loadskill",
		"sleep":         "sleep wait",
	} {
		for native := range strings.FieldsSeq(natives) {
			table[native] = name
		}
	}
	return table
}()

// kindNames is what an ACP tool kind says of a call without a name.
var kindNames = map[string]string{
	"read": "read", "edit": "edit", "delete": "delete", "move": "move", "search": "grep", "execute": "bash",
	"think": "think", "fetch": "web-fetch", "switch_mode": "plan",
}

// nativeName is the agent's name of the tool, as far as it can be found.
func (p *Protocol) nativeName(c *call) string {
	if c.native != "" {
		return c.native
	}
	if sep := p.spec.Quirks.NameFromID; sep != "" {
		if name, _, ok := strings.Cut(c.id, sep); ok && toolLike(name) {
			return name
		}
	}
	// A title that can only be an identifier is the tool's name, when the kind says
	// nothing.
	if t := c.firstTitle; (c.kind == "other" || c.kind == "") && toolLike(t) && strings.ToLower(t) == t {
		if _, known := canonicalNames[plainName(t)]; known || strings.Contains(t, "_") {
			return t
		}
	}
	return ""
}

// canonical is the contract's name of a call's tool.
func (p *Protocol) canonical(c *call) string {
	native := p.nativeName(c)
	if name := p.spec.Quirks.Tools[native]; name != "" && native != "" {
		return name
	}
	if name, ok := p.mcpName(native); ok {
		return name
	}
	if name, ok := canonicalNames[plainName(native)]; ok {
		return name
	}
	if native != "" {
		return hyphenated(native)
	}
	// Only the input is left to tell a sub-agent from a thought, and the web from
	// the disk.
	if c.input.Get("prompt").Given() && (c.input.Get("agent_type").Given() || c.input.Get("subagent_type").Given()) {
		return "task"
	}
	if c.input.Get("type").Text() == "webSearch" {
		return "web-search"
	}
	if name, ok := kindNames[c.kind]; ok {
		return name
	}
	return "other"
}

// mcpName recognises the tools of MCP servers: mcp__server__tool as Claude, qwen
// and others have it, server_tool and server-tool for servers that we configured.
func (p *Protocol) mcpName(native string) (string, bool) {
	if rest, ok := strings.CutPrefix(native, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok && server != "" && tool != "" {
			return "mcp/" + server + "/" + tool, true
		}
	}
	for _, s := range p.info.Options.MCPServers {
		for _, prefix := range []string{"mcp_" + s.Name + "_", s.Name + "__", s.Name + "_", s.Name + "-", s.Name + "/"} {
			if tool, ok := strings.CutPrefix(native, prefix); ok && tool != "" && s.Name != "" {
				return "mcp/" + s.Name + "/" + tool, true
			}
		}
	}
	return "", false
}

// hyphenated is a native name in lower case with hyphens: someTool, some_tool and
// "Some Tool" become some-tool.
func hyphenated(s string) string {
	var b strings.Builder
	lower := false // the last letter was in lower case
	for _, r := range rawjson.Repair(s) {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte('-')
			}
			b.WriteRune(r + 'a' - 'A')
			lower = false
			continue
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 0x7f:
			b.WriteRune(unicode.ToLower(r))
			lower = true
			continue
		case r == '/', r == '.':
			b.WriteRune(r)
		default:
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
				b.WriteByte('-')
			}
		}
		lower = false
	}
	if out := strings.Trim(b.String(), "-"); out != "" {
		return out
	}
	return "other"
}
