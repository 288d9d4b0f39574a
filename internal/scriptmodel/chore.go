package scriptmodel

import "strings"

// sessionTitle is the answer to every request for a title.
const sessionTitle = "Scripted session"

// chore answers a request that the agent makes on its own behalf, nil for one
// that belongs to a turn.
func chore(p protocol, r *request) *answer {
	wanted := parseSchema(r.schema)
	_, title := wanted.Properties["title"]
	ofUser := p.peopleUseSchemas && r.lastHoldsScript() && !(title && len(wanted.Properties) == 1)
	switch {
	case r.maxTokens == 1:
		return plainText(KindChore, "ok")
	case r.schema != nil && !ofUser:
		return plainText(KindChore, string(encode(fitted(wanted))))
	case r.titled():
		return plainText(KindChore, sessionTitle)
	}
	return nil
}

// fitted is an example of s with the words that agents look for: a title, the
// least complexity (gemini's scale begins at 1), and "user" for who speaks next,
// since "model" would make the agent go on for ever.
func fitted(s schema) any {
	v := s.example(0)
	obj, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name := range obj {
		switch name {
		case "title":
			obj[name] = sessionTitle
		case "next_speaker":
			obj[name] = "user"
		case "complexity_score":
			obj[name] = 1
		}
	}
	return obj
}

// lastHoldsScript reports whether the newest item is a user text with a script.
func (r *request) lastHoldsScript() bool {
	if len(r.items) == 0 || r.items[len(r.items)-1].kind != userText {
		return false
	}
	_, ok := findScript(r.items[len(r.items)-1].text)
	return ok
}

// titled reports whether the request asks for a title of the session: it offers
// no tools and its system prompt says so (opencode and claude do it like that).
func (r *request) titled() bool {
	if len(r.tools) > 0 {
		return false
	}
	system := strings.ToLower(r.system)
	return strings.Contains(system, "title") &&
		(strings.Contains(system, "generat") || strings.Contains(system, "write"))
}
