package scriptmodel

import (
	"net/http"
	"strings"
)

// control serves the requests to the server itself; they are not recorded.
func (s *Server) control(w http.ResponseWriter, r *http.Request, rec Request, path string) {
	verb, name, _ := strings.Cut(path, "/")
	switch {
	case verb == "release" && name != "" && r.Method == http.MethodPost:
		s.Release(name)
		w.WriteHeader(http.StatusNoContent)
	case verb == "requests" && r.Method == http.MethodGet:
		list := []any{}
		for _, q := range s.Requests() {
			list = append(list, map[string]any{
				"seq": q.Seq, "method": q.Method, "path": q.Path, "api": q.API, "model": q.Model,
				"stream": q.Stream, "kind": q.Kind, "script": q.Script, "step": q.Step, "tools": q.Tools,
				"status": q.Status, "ending": q.Ending, "body": string(q.Body),
			})
		}
		writeJSON(w, http.StatusOK, map[string]any{"requests": list})
	default:
		s.unknown(w, rec)
	}
}

// Model names that the lists offer. Any other name is accepted as well.
const (
	ModelName      = "scripted-1"
	SmallModelName = "scripted-small"
)

// models serves the lists of models in one body that OpenAI's and Anthropic's
// clients both read, and Gemini's.
func (s *Server) models(w http.ResponseWriter, rec Request, path string) {
	head, name, one := strings.Cut(path, "/models")
	if !one {
		s.unknown(w, rec)
		return
	}
	rec.Kind, rec.Status, rec.Ending = KindModels, http.StatusOK, EndDone
	s.note(rec)
	describe := openaiModel
	if strings.Contains(head, "v1beta") {
		describe = geminiModel
	}
	if name = strings.TrimPrefix(name, "/"); name != "" {
		writeJSON(w, http.StatusOK, describe(name))
		return
	}
	all := []any{describe(ModelName), describe(SmallModelName)}
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list", "data": all, "models": all,
		"has_more": false, "first_id": ModelName, "last_id": SmallModelName,
	})
}

func openaiModel(name string) any {
	return map[string]any{
		"id": name, "object": "model", "created": created, "owned_by": "scriptmodel",
		"type": "model", "display_name": name, "created_at": "2023-11-14T22:13:20Z",
	}
}

func geminiModel(name string) any {
	return map[string]any{
		"name": "models/" + name, "displayName": name, "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
		"supportedGenerationMethods": []any{"generateContent", "countTokens"},
	}
}
