package contract

import (
	"encoding/json/jsontext"
	"reflect"
	"slices"
)

// event writes the object of an event. There is one method for each type; that
// they agree with the struct tags is tested against the reflective encoding.
func (w *encoder) event(ev Event) {
	switch ev := ev.(type) {
	case Text:
		w.writeText(ev)
	case File:
		w.writeFile(ev)
	case TurnStart:
		w.begin(TypeTurnStart)
		w.texts("prompts", ev.Prompts)
		end[TurnStart](w, ev.Extra)
	case TurnEnd:
		w.writeTurnEnd(ev)
	case ToolCallStart:
		w.writeToolCallStart(ev)
	case ToolCallEnd:
		w.writeToolCallEnd(ev)
	case Service:
		w.writeService(ev)
	case SubagentStart:
		w.writeSubagentStart(ev)
	case SubagentStop:
		w.begin(TypeSubagentStop)
		w.text("agentId", ev.AgentID)
		end[SubagentStop](w, ev.Extra)
	case SessionControlChanged:
		w.begin(TypeSessionControlChanged)
		w.text("clientType", string(ev.ClientType))
		w.optText("tokenId", ev.TokenID)
		end[SessionControlChanged](w, ev.Extra)
	case PermissionRequest:
		w.writePermissionRequest(ev)
	case PermissionResponse:
		w.writePermissionResponse(ev)
	case Abort:
		w.begin(TypeAbort)
		end[Abort](w, ev.Extra)
	case AgentConfigurationChanged:
		w.writeAgentConfigurationChanged(ev)
	case Unknown:
		w.writeUnknown(ev)
	case nil:
		w.faults.add("", "event", "nothing")
	default:
		w.faults.add("", "one of the 14 event structs or Unknown, by value", reflect.TypeOf(ev).String())
	}
}

// begin opens an event's object with its discriminator.
func (w *encoder) begin(t EventType) {
	w.b = append(w.b, `{"t":"`...)
	w.b = append(w.b, t...)
	w.b = append(w.b, '"')
}

// end closes the object of the struct T with its unknown members.
func end[T any](w *encoder, extra jsontext.Value) {
	if extra != nil {
		if t := reflect.TypeFor[T](); t.Implements(reflect.TypeFor[Event]()) {
			w.extra(extra, t, "t")
		} else {
			w.extra(extra, t)
		}
	}
	w.b = append(w.b, '}')
}

// nest writes the member name with an object that write fills.
func nest[T any](w *encoder, name string, v *T, write func(*encoder, T)) {
	if v == nil {
		return
	}
	w.name(name)
	mark := len(w.faults)
	w.b = append(w.b, '{')
	write(w, *v)
	w.faults.under(mark, name)
}

// list writes the member name with an array of objects that write fills. An
// empty list is written only if it is required.
func list[T any](w *encoder, name string, vs []T, required bool, write func(*encoder, T)) {
	if len(vs) == 0 && !required {
		return
	}
	w.name(name)
	outer := len(w.faults)
	w.b = append(w.b, '[')
	for i, v := range vs {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		mark := len(w.faults)
		w.b = append(w.b, '{')
		write(w, v)
		w.faults.underIndex(mark, i)
	}
	w.b = append(w.b, ']')
	w.faults.under(outer, name)
}

func (w *encoder) writeText(v Text) {
	w.begin(TypeText)
	w.text("text", v.Text)
	w.flag("thinking", v.Thinking)
	w.flag("steer", v.Steer)
	w.optText("fallback", string(v.Fallback))
	list(w, "refs", v.Refs, false, writeFileRef)
	end[Text](w, v.Extra)
}

func writeFileRef(w *encoder, v FileRef) {
	w.text("ref", v.Ref)
	w.optText("name", v.Name)
	w.optInteger("size", v.Size)
	w.optText("mime", v.MIME)
	end[FileRef](w, v.Extra)
}

func (w *encoder) writeFile(v File) {
	w.begin(TypeFile)
	w.text("ref", v.Ref)
	w.text("name", v.Name)
	w.integer("size", v.Size)
	nest(w, "image", v.Image, writeImage)
	end[File](w, v.Extra)
}

func writeImage(w *encoder, v Image) {
	w.integer("width", int64(v.Width))
	w.integer("height", int64(v.Height))
	w.text("thumbhash", v.Thumbhash)
	end[Image](w, v.Extra)
}

func (w *encoder) writeTurnEnd(v TurnEnd) {
	w.begin(TypeTurnEnd)
	w.text("status", string(v.Status))
	nest(w, "usage", v.Usage, writeUsage)
	nest(w, "error", v.Error, writeError)
	w.optText("model", v.Model)
	end[TurnEnd](w, v.Extra)
}

func writeUsage(w *encoder, v Usage) {
	w.integer("inputTokens", v.InputTokens)
	w.integer("outputTokens", v.OutputTokens)
	w.optNumber("cost", v.Cost)
	w.optInteger("reasoningTokens", v.ReasoningTokens)
	w.optInteger("cacheReadTokens", v.CacheReadTokens)
	w.optInteger("cacheWriteTokens", v.CacheWriteTokens)
	end[Usage](w, v.Extra)
}

func writeError(w *encoder, v Error) {
	w.optText("code", string(v.Code))
	w.text("message", v.Message)
	end[Error](w, v.Extra)
}

func (w *encoder) writeToolCallStart(v ToolCallStart) {
	w.begin(TypeToolCallStart)
	w.text("call", v.Call)
	w.text("name", v.Name)
	w.text("title", v.Title)
	w.text("description", v.Description)
	w.object("args", v.Args)
	w.optText("native", v.Native)
	end[ToolCallStart](w, v.Extra)
}

func (w *encoder) writeToolCallEnd(v ToolCallEnd) {
	w.begin(TypeToolCallEnd)
	w.text("call", v.Call)
	nest(w, "result", v.Result, writeToolResult)
	end[ToolCallEnd](w, v.Extra)
}

func writeToolResult(w *encoder, v ToolResult) {
	w.text("status", string(v.Status))
	w.optRaw("output", v.Output)
	w.optText("error", v.Error)
	list(w, "files", v.Files, false, writeFileDiff)
	w.flag("truncated", v.Truncated)
	end[ToolResult](w, v.Extra)
}

func writeFileDiff(w *encoder, v FileDiff) {
	w.text("path", v.Path)
	w.optText("oldPath", v.OldPath)
	w.text("status", string(v.Status))
	w.text("patch", v.Patch)
	w.optInteger("additions", int64(v.Additions))
	w.optInteger("deletions", int64(v.Deletions))
	end[FileDiff](w, v.Extra)
}

func (w *encoder) writeService(v Service) {
	w.begin(TypeService)
	w.text("text", v.Text)
	w.optText("kind", string(v.Kind))
	w.optText("code", string(v.Code))
	end[Service](w, v.Extra)
}

func (w *encoder) writeSubagentStart(v SubagentStart) {
	w.begin(TypeSubagentStart)
	w.text("agentId", v.AgentID)
	w.optText("title", v.Title)
	w.optText("call", v.Call)
	end[SubagentStart](w, v.Extra)
}

func (w *encoder) writePermissionRequest(v PermissionRequest) {
	w.begin(TypePermissionRequest)
	w.text("call", v.Call)
	w.text("toolName", v.ToolName)
	w.text("title", v.Title)
	w.text("description", v.Description)
	w.object("args", v.Args)
	list(w, "options", v.Options, false, writePermissionOption)
	w.texts("patterns", v.Patterns)
	w.texts("always", v.Always)
	nest(w, "question", v.Question, writeQuestion)
	w.optText("nonce", v.Nonce)
	end[PermissionRequest](w, v.Extra)
}

func writePermissionOption(w *encoder, v PermissionOption) {
	w.text("decision", string(v.Decision))
	w.text("label", v.Label)
	end[PermissionOption](w, v.Extra)
}

func writeQuestion(w *encoder, v Question) {
	w.optText("message", v.Message)
	list(w, "questions", v.Questions, true, writeQuestionField)
	end[Question](w, v.Extra)
}

func writeQuestionField(w *encoder, v QuestionField) {
	w.text("id", v.ID)
	w.optText("header", v.Header)
	w.text("question", v.Question)
	list(w, "options", v.Options, false, writeQuestionOption)
	w.flag("multiple", v.Multiple)
	w.flag("custom", v.Custom)
	w.flag("secret", v.Secret)
	w.flag("required", v.Required)
	w.optRaw("schema", v.Schema)
	end[QuestionField](w, v.Extra)
}

func writeQuestionOption(w *encoder, v QuestionOption) {
	w.text("label", v.Label)
	w.optText("description", v.Description)
	w.optText("value", v.Value)
	end[QuestionOption](w, v.Extra)
}

func (w *encoder) writePermissionResponse(v PermissionResponse) {
	w.begin(TypePermissionResponse)
	w.text("call", v.Call)
	w.text("decision", string(v.Decision))
	nest(w, "by", v.By, writeDecisionBy)
	w.optText("message", v.Message)
	w.optObject("answers", v.Answers)
	w.optObject("args", v.Args)
	w.optText("nonce", v.Nonce)
	end[PermissionResponse](w, v.Extra)
}

func writeDecisionBy(w *encoder, v DecisionBy) {
	w.text("resolver", string(v.Resolver))
	w.optText("rule", v.Rule)
	w.optText("clientType", string(v.ClientType))
	w.optText("tokenId", v.TokenID)
	end[DecisionBy](w, v.Extra)
}

func (w *encoder) writeAgentConfigurationChanged(v AgentConfigurationChanged) {
	w.begin(TypeAgentConfigurationChanged)
	w.optText("permissionMode", string(v.PermissionMode))
	w.optText("model", v.Model)
	w.optText("thinkingLevel", v.ThinkingLevel)
	w.optBoolean("sandbox", v.Sandbox)
	w.optText("agent", v.Agent)
	nest(w, "from", v.From, writeConfigurationFrom)
	end[AgentConfigurationChanged](w, v.Extra)
}

func writeConfigurationFrom(w *encoder, v ConfigurationFrom) {
	w.optText("permissionMode", string(v.PermissionMode))
	w.optText("model", v.Model)
	w.optText("thinkingLevel", v.ThinkingLevel)
	w.optBoolean("sandbox", v.Sandbox)
	w.optText("agent", v.Agent)
	end[ConfigurationFrom](w, v.Extra)
}

// writeUnknown passes a foreign event through. Its body must say the type that
// it was decoded with, or the next reader would take it for another event.
func (w *encoder) writeUnknown(v Unknown) {
	if slices.Contains(EventTypes(), v.T) {
		w.faults.add("t", "type this version does not know", quoted(string(v.T)))
		return
	}
	if v.Body == nil {
		w.b = append(w.b, '{')
		w.text("t", string(v.T))
		w.b = append(w.b, '}')
		return
	}
	good, ok := repaired(v.Body)
	if !ok || v.Body.Kind() != jsontext.KindBeginObject {
		w.faults.add("", "JSON object", describe(v.Body))
		return
	}
	object := trimSpace(good)
	t, found := typeOf(object, members(nil, object))
	if !found || t != v.T {
		w.faults.add("t", quoted(string(v.T)), quoted(string(t)))
		return
	}
	w.b = append(w.b, good...)
}
