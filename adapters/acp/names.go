package acp

import (
	"strings"
	"unicode"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// commonName maps the tool names of ACP agents, in plain form (see plainName), to
// the contract's; "" for one that is not in the table. One table serves all agents:
// no two of them use one name for different deeds. A spec can add to it.
func commonName(plain string) string {
	switch plain {
	case "bash", "shell", "runshellcommand", "execcommand", "execute", "executecommand", "terminal", "runterminalcmd",
		"runterminalcommand", "runcommand", "runinterminal", "powershell", "localshell", "unifiedexec", "launchprocess",
		"shellcommand", "developershell":
		return "bash"
	case "read", "readfile", "readmanyfiles", "readtextfile", "view", "viewfile", "openfile", "readfiles", "fileread", "cat":
		return "read"
	case "write", "writefile", "create", "createfile", "writetofile", "savefile", "filewrite":
		return "write"
	case "edit", "replace", "multiedit", "strreplace", "strreplaceeditor", "editfile", "applypatch", "patch",
		"searchreplace", "applydiff", "replaceinfile", "replaceinfiles", "developertexteditor":
		return "edit"
	case "delete", "deletefile", "remove", "removefile", "rm", "removefiles":
		return "delete"
	case "move", "rename", "movefile", "renamefile", "mv":
		return "move"
	case "list", "ls", "listdirectory", "listfiles", "listdir", "readfolder":
		return "list"
	case "glob", "findfiles", "filesearch", "globfiles":
		return "glob"
	case "grep", "search", "searchfilecontent", "grepsearch", "searchfiles", "ripgrep", "codebasesearch", "searchtext":
		return "grep"
	case "webfetch", "fetch", "fetchurl", "readurl", "urlfetch", "fetchwebpage":
		return "web-fetch"
	case "websearch", "googlewebsearch", "searchweb", "websearchprime":
		return "web-search"
	case "todo", "todowrite", "todoread", "writetodos", "settodolist", "updatetodos", "taskcreate", "taskupdate",
		"tasklist", "taskget", "updatetodolist":
		return "todo"
	case "plan", "updateplan", "exitplanmode", "enterplanmode", "switchmode", "planexit", "planenter", "createplan", "presentplan":
		return "plan"
	case "task", "agent", "invokeagent", "spawnagent", "subagent", "newtask", "delegate", "dispatchagent":
		return "task"
	case "askuser", "askuserquestion", "question", "askfollowupquestion", "requestuserinput":
		return "ask-user"
	case "viewimage", "readimage":
		return "view-image"
	case "think", "sequentialthinking", "updatetopic", "reportintent":
		return "think"
	case "notebookedit", "editnotebook":
		return "notebook-edit"
	case "skill", "activateskill", "loadskill":
		return "skill"
	case "sleep", "wait":
		return "sleep"
	}
	return ""
}

// kindName is what an ACP tool kind says of a call without a name.
func kindName(kind string) string {
	switch kind {
	case "read", "edit", "delete", "move", "think":
		return kind
	case "search":
		return "grep"
	case "execute":
		return "bash"
	case "fetch":
		return "web-fetch"
	case "switch_mode":
		return "plan"
	}
	return "other"
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
		if commonName(plainName(t)) != "" || strings.Contains(t, "_") {
			return t
		}
	}
	return ""
}

// canonical is the contract's name of a call's tool. Rules are written for names:
// where a permission is asked for, a name for reading does not stand for a call
// whose kind is to run or to change something.
func (p *Protocol) canonical(c *call) string {
	name := p.named(c)
	if !c.acts {
		return name
	}
	switch name {
	case "read", "list", "glob", "grep", "think", "todo", "view-image", "web-search", "web-fetch":
		switch c.kind {
		case "execute", "edit", "delete", "move":
			return kindName(c.kind)
		}
	}
	return name
}

// named is canonical by the call's name first.
func (p *Protocol) named(c *call) string {
	native := p.nativeName(c)
	if name := p.spec.Quirks.Tools[native]; name != "" && native != "" {
		return name
	}
	if name, ok := p.mcpName(native); ok {
		return name
	}
	if name := commonName(plainName(native)); name != "" {
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
	return kindName(c.kind)
}

// mcpName recognises the tools of MCP servers: mcp__server__tool as Claude, qwen
// and others have it, server_tool and server-tool for servers that we configured.
// Where a name can be split in more than one way (the servers "git" and "git_hub")
// none is taken: a rule for one server must not speak of another's tool.
func (p *Protocol) mcpName(native string) (name string, ok bool) {
	if rest, ok := strings.CutPrefix(native, "mcp/"); ok {
		if server, tool, ok := strings.Cut(rest, "/"); ok && server != "" && tool != "" {
			return native, true
		}
	}
	for _, s := range p.info.Options.MCPServers {
		for _, prefix := range []string{"mcp__" + s.Name + "__", "mcp_" + s.Name + "_", s.Name + "__", s.Name + "_", s.Name + "-", s.Name + "/"} {
			tool, cut := strings.CutPrefix(native, prefix)
			if !cut || tool == "" || s.Name == "" {
				continue
			}
			if ok && !strings.HasPrefix(name, "mcp/"+s.Name+"/") {
				return hyphenated(native), true
			}
			if !ok { // the longest mark comes first
				name, ok = "mcp/"+s.Name+"/"+tool, true
			}
		}
	}
	if ok {
		return name, true
	}
	rest, ok := strings.CutPrefix(native, "mcp__")
	mark := strings.Index(rest, "__")
	if !ok || mark <= 0 || mark+2 == len(rest) || strings.LastIndex(rest, "__") != mark {
		return "", false
	}
	return "mcp/" + rest[:mark] + "/" + rest[mark+2:], true
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
