package scriptmodel

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseAct reads one act.
func parseAct(s string) (act, error) {
	head, rest, _ := strings.Cut(s, " ")
	verb, id, _ := strings.Cut(head, "@")
	a := act{verb: verb, id: id, limit: always}
	rest = strings.TrimSpace(rest)
	var err error
	switch verb {
	case "text", "think", "shell", "task", "raw":
		err = a.take(rest, "text")
	case "read", "hold":
		err = a.take(rest, "word")
	case "write":
		err = a.take(rest, "word", "text")
	case "edit":
		err = a.take(rest, "word", "word", "text")
	case "tool":
		err = a.take(rest, "word", "json")
	case "mcp":
		err = a.take(rest, "word", "word", "json")
	case "chunks":
		if err = a.numbers(rest, 2, 2); err == nil && a.nums[0] > maxChunks/max(a.nums[1], 32) {
			err = fmt.Errorf("got %d times %d, want at most %d characters in all", a.nums[0], a.nums[1], maxChunks)
		}
	case "usage":
		err = a.numbers(rest, 2, 4)
	case "slow", "wait":
		err = a.numbers(rest, 1, 1)
	case "finish":
		err = a.take(rest, "word")
		if err == nil && !slices.Contains([]string{"max_tokens", "safety", "malformed", "stop"}, a.words[0]) {
			err = fmt.Errorf("got %q, want max_tokens, safety, malformed or stop", a.words[0])
		}
	case "empty", "drop", "badsse", "hang":
		a.limit, rest = parseLimit(rest)
		err = a.take(rest)
	case "fail":
		a.limit, rest = parseLimit(rest)
		err = a.take(rest, "word", "text?")
	case "error":
		a.limit, rest = parseLimit(rest)
		err = a.status(rest)
	default:
		return act{}, fmt.Errorf("unknown verb %q", verb)
	}
	if err != nil {
		return act{}, fmt.Errorf("%s: %w", verb, err)
	}
	if a.id != "" && !a.calls() {
		return act{}, fmt.Errorf("%s: an id is for tool calls", verb)
	}
	return a, nil
}

// maxChunks bounds the content of "chunks", which is made before it is sent.
const maxChunks = 256 << 20

// calls reports whether the act is a tool call.
func (a act) calls() bool {
	switch a.verb {
	case "tool", "mcp", "shell", "write", "edit", "read", "task":
		return true
	}
	return false
}

// take reads arguments of the given shapes into a.words. An absent json is "{}",
// an absent "text?" is "".
func (a *act) take(rest string, shapes ...string) error {
	for _, shape := range shapes {
		var word string
		var err error
		switch shape {
		case "word":
			word, rest, err = takeWord(rest)
		case "text":
			if word, err = unquoteAll(rest); err == nil && rest == "" {
				err = fmt.Errorf("want a text")
			}
			rest = ""
		case "text?":
			word, err = unquoteAll(rest)
			rest = ""
		case "json":
			word, err = takeJSON(rest)
			rest = ""
		}
		if err != nil {
			return err
		}
		a.words = append(a.words, word)
	}
	if rest != "" {
		return fmt.Errorf("want no more arguments, got %q", rest)
	}
	return nil
}

// takeWord reads one bare word or JSON string and returns what follows.
func takeWord(s string) (word, rest string, err error) {
	if s == "" {
		return "", "", fmt.Errorf("want one more word")
	}
	if n := 0; s[0] == '"' {
		if n = quotedLen(s); n > 0 {
			word, err = unquote(s[:n])
			return word, strings.TrimSpace(s[n:]), err
		}
	}
	word, rest, _ = strings.Cut(s, " ")
	return word, strings.TrimSpace(rest), nil
}

// unquoteAll returns s, decoded when the whole of it is one JSON string.
func unquoteAll(s string) (string, error) {
	if len(s) > 1 && s[0] == '"' && quotedLen(s) == len(s) {
		return unquote(s)
	}
	return s, nil
}

func unquote(s string) (string, error) {
	out, err := jsontext.AppendUnquote(nil, s)
	if err != nil {
		return "", fmt.Errorf("got %s, want a JSON string: %v", s, err)
	}
	return string(out), nil
}

// takeJSON returns s when it is a JSON object, "{}" for nothing.
func takeJSON(s string) (string, error) {
	if s == "" {
		return "{}", nil
	}
	v := jsontext.Value(s)
	if !v.IsValid() || v.Kind() != '{' {
		return "", fmt.Errorf("got %q, want a JSON object", s)
	}
	return s, nil
}

// numbers reads between low and high whole numbers into a.nums.
func (a *act) numbers(rest string, low, high int) error {
	for _, f := range strings.Fields(rest) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 {
			return fmt.Errorf("got %q, want a number >= 0", f)
		}
		a.nums = append(a.nums, n)
	}
	if len(a.nums) < low || len(a.nums) > high {
		return fmt.Errorf("got %d numbers, want %d to %d", len(a.nums), low, high)
	}
	return nil
}

// status reads the status and message of an HTTP error.
func (a *act) status(rest string) error {
	code, msg, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(code)
	if err != nil || n < 400 || n > 599 {
		return fmt.Errorf("got %q, want an HTTP status from 400 to 599", code)
	}
	a.nums = []int{n}
	text, err := unquoteAll(strings.TrimSpace(msg))
	if text == "" {
		text = "scripted error"
	}
	a.words = []string{text}
	return err
}
