package contract

// typeOf returns the discriminator of the event v with those members. found is
// false when there is none that is a string.
func typeOf(v []byte, list []member) (t EventType, found bool) {
	for i := range list {
		m := &list[i]
		if !m.isNamed(v, "t") {
			continue
		}
		m.known = true
		value := m.value(v)
		if t, found = "", value[0] == '"'; found {
			t = eventType(value)
		}
	}
	return t, found
}

// eventType reads the literal of a type, without allocating for the known ones.
func eventType(literal []byte) EventType {
	switch string(literal[1 : len(literal)-1]) {
	case string(TypeText):
		return TypeText
	case string(TypeFile):
		return TypeFile
	case string(TypeTurnStart):
		return TypeTurnStart
	case string(TypeTurnEnd):
		return TypeTurnEnd
	case string(TypeToolCallStart):
		return TypeToolCallStart
	case string(TypeToolCallEnd):
		return TypeToolCallEnd
	case string(TypeService):
		return TypeService
	case string(TypeSubagentStart):
		return TypeSubagentStart
	case string(TypeSubagentStop):
		return TypeSubagentStop
	case string(TypeSessionControlChanged):
		return TypeSessionControlChanged
	case string(TypePermissionRequest):
		return TypePermissionRequest
	case string(TypePermissionResponse):
		return TypePermissionResponse
	case string(TypeAbort):
		return TypeAbort
	case string(TypeAgentConfigurationChanged):
		return TypeAgentConfigurationChanged
	}
	return EventType(unquote(literal))
}

// readEvent reads the event that is o.
func readEvent(o object) Event {
	t, found := typeOf(o.v, o.own())
	if !found {
		o.text("t") // adds the fault
		return nil
	}
	switch t {
	case TypeText:
		return readText(o)
	case TypeFile:
		return readFile(o)
	case TypeTurnStart:
		return TurnStart{Prompts: o.optTexts("prompts"), Extra: o.rest()}
	case TypeTurnEnd:
		return readTurnEnd(o)
	case TypeToolCallStart:
		return readToolCallStart(o)
	case TypeToolCallEnd:
		return ToolCallEnd{Call: o.text("call"), Result: nested(o, "result", readToolResult), Extra: o.rest()}
	case TypeService:
		return readService(o)
	case TypeSubagentStart:
		return SubagentStart{AgentID: o.text("agentId"), Title: o.optText("title"), Call: o.optText("call"), Extra: o.rest()}
	case TypeSubagentStop:
		return SubagentStop{AgentID: o.text("agentId"), Extra: o.rest()}
	case TypeSessionControlChanged:
		return SessionControlChanged{ClientType: ClientType(o.text("clientType")), TokenID: o.optText("tokenId"), Extra: o.rest()}
	case TypePermissionRequest:
		return readPermissionRequest(o)
	case TypePermissionResponse:
		return readPermissionResponse(o)
	case TypeAbort:
		return Abort{Extra: o.rest()}
	case TypeAgentConfigurationChanged:
		return readAgentConfigurationChanged(o)
	}
	return Unknown{T: t, Body: clone(o.v)}
}

func readText(o object) Text {
	return Text{
		Text:     o.text("text"),
		Thinking: o.flag("thinking"),
		Steer:    o.flag("steer"),
		Fallback: Fallback(o.optText("fallback")),
		Refs:     nestedList(o, "refs", false, readFileRef),
		Extra:    o.rest(),
	}
}

func readFileRef(o object) FileRef {
	return FileRef{
		Ref:   o.text("ref"),
		Name:  o.optText("name"),
		Size:  o.optCount("size"),
		MIME:  o.optText("mime"),
		Extra: o.rest(),
	}
}

func readFile(o object) File {
	return File{
		Ref:   o.text("ref"),
		Name:  o.text("name"),
		Size:  o.count("size"),
		Image: nested(o, "image", readImage),
		Extra: o.rest(),
	}
}

func readImage(o object) Image {
	return Image{
		Width:     o.size("width"),
		Height:    o.size("height"),
		Thumbhash: o.text("thumbhash"),
		Extra:     o.rest(),
	}
}

func readTurnEnd(o object) TurnEnd {
	return TurnEnd{
		Status: TurnStatus(o.text("status")),
		Usage:  nested(o, "usage", readUsage),
		Error:  nested(o, "error", readError),
		Model:  o.optText("model"),
		Extra:  o.rest(),
	}
}

func readUsage(o object) Usage {
	return Usage{
		InputTokens:      o.count("inputTokens"),
		OutputTokens:     o.count("outputTokens"),
		Cost:             o.optNumber("cost"),
		ReasoningTokens:  o.optCount("reasoningTokens"),
		CacheReadTokens:  o.optCount("cacheReadTokens"),
		CacheWriteTokens: o.optCount("cacheWriteTokens"),
		Extra:            o.rest(),
	}
}

func readError(o object) Error {
	return Error{
		Code:    ErrorCode(o.optText("code")),
		Message: o.text("message"),
		Extra:   o.rest(),
	}
}

func readToolCallStart(o object) ToolCallStart {
	return ToolCallStart{
		Call:        o.text("call"),
		Name:        o.text("name"),
		Title:       o.text("title"),
		Description: o.text("description"),
		Args:        o.object("args"),
		Native:      o.optText("native"),
		Extra:       o.rest(),
	}
}

func readToolResult(o object) ToolResult {
	return ToolResult{
		Status:    ToolStatus(o.text("status")),
		Output:    o.optRaw("output"),
		Error:     o.optText("error"),
		Files:     nestedList(o, "files", false, readFileDiff),
		Truncated: o.flag("truncated"),
		Extra:     o.rest(),
	}
}

func readFileDiff(o object) FileDiff {
	return FileDiff{
		Path:      o.text("path"),
		OldPath:   o.optText("oldPath"),
		Status:    ChangeStatus(o.text("status")),
		Patch:     o.text("patch"),
		Additions: o.optSize("additions"),
		Deletions: o.optSize("deletions"),
		Extra:     o.rest(),
	}
}

func readService(o object) Service {
	return Service{
		Text:  o.text("text"),
		Kind:  ServiceKind(o.optText("kind")),
		Code:  ErrorCode(o.optText("code")),
		Extra: o.rest(),
	}
}

func readPermissionRequest(o object) PermissionRequest {
	return PermissionRequest{
		Call:        o.text("call"),
		ToolName:    o.text("toolName"),
		Title:       o.text("title"),
		Description: o.text("description"),
		Args:        o.object("args"),
		Options:     nestedList(o, "options", false, readPermissionOption),
		Patterns:    o.optTexts("patterns"),
		Always:      o.optTexts("always"),
		Question:    nested(o, "question", readQuestion),
		Nonce:       o.optText("nonce"),
		Extra:       o.rest(),
	}
}

func readPermissionOption(o object) PermissionOption {
	return PermissionOption{
		Decision: Decision(o.text("decision")),
		Label:    o.text("label"),
		Extra:    o.rest(),
	}
}

func readQuestion(o object) Question {
	return Question{
		Message:   o.optText("message"),
		Questions: nestedList(o, "questions", true, readQuestionField),
		Extra:     o.rest(),
	}
}

func readQuestionField(o object) QuestionField {
	return QuestionField{
		ID:       o.text("id"),
		Header:   o.optText("header"),
		Question: o.text("question"),
		Options:  nestedList(o, "options", false, readQuestionOption),
		Multiple: o.flag("multiple"),
		Custom:   o.flag("custom"),
		Secret:   o.flag("secret"),
		Required: o.flag("required"),
		Schema:   o.optRaw("schema"),
		Extra:    o.rest(),
	}
}

func readQuestionOption(o object) QuestionOption {
	return QuestionOption{
		Label:       o.text("label"),
		Description: o.optText("description"),
		Value:       o.optText("value"),
		Extra:       o.rest(),
	}
}

func readPermissionResponse(o object) PermissionResponse {
	return PermissionResponse{
		Call:     o.text("call"),
		Decision: Decision(o.text("decision")),
		By:       nested(o, "by", readDecisionBy),
		Message:  o.optText("message"),
		Answers:  o.optObject("answers"),
		Args:     o.optObject("args"),
		Nonce:    o.optText("nonce"),
		Extra:    o.rest(),
	}
}

func readDecisionBy(o object) DecisionBy {
	return DecisionBy{
		Resolver:   Resolver(o.text("resolver")),
		Rule:       o.optText("rule"),
		ClientType: ClientType(o.optText("clientType")),
		TokenID:    o.optText("tokenId"),
		Extra:      o.rest(),
	}
}

func readAgentConfigurationChanged(o object) AgentConfigurationChanged {
	return AgentConfigurationChanged{
		PermissionMode: PermissionMode(o.optText("permissionMode")),
		Model:          o.optText("model"),
		ThinkingLevel:  o.optText("thinkingLevel"),
		Sandbox:        o.optBoolean("sandbox"),
		Agent:          o.optText("agent"),
		From:           nested(o, "from", readConfigurationFrom),
		Extra:          o.rest(),
	}
}

func readConfigurationFrom(o object) ConfigurationFrom {
	return ConfigurationFrom{
		PermissionMode: PermissionMode(o.optText("permissionMode")),
		Model:          o.optText("model"),
		ThinkingLevel:  o.optText("thinkingLevel"),
		Sandbox:        o.optBoolean("sandbox"),
		Agent:          o.optText("agent"),
		Extra:          o.rest(),
	}
}
