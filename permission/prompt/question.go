package prompt

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
)

// answer asks the fields of a question one after the other.
func (s *screen) answer(ctx context.Context) (permission.Response, error) {
	r := permission.Response{Decision: contract.AllowOnce}
	given := map[string]jsontext.Value{}
	for i := range s.ask.Question.Questions {
		f := &s.ask.Question.Questions[i]
		v, err := s.field(ctx, f)
		if errors.Is(err, errCancelled) {
			return permission.Response{Decision: contract.RejectOnce}, nil
		}
		if err != nil {
			return r, err
		}
		if v != nil {
			given[f.ID] = v
		}
	}
	var err error
	r.Answers, err = json.Marshal(given, json.Deterministic(true))
	return r, err
}

// field asks one field until the answer fits. Nil is no answer.
func (s *screen) field(ctx context.Context, f *contract.QuestionField) (jsontext.Value, error) {
	if f.Header != "" {
		s.printf("%s\n", s.bold(clean(f.Header)))
	}
	s.printf("%s\n", clean(f.Question))
	for i, o := range f.Options {
		s.printf("  %d  %s", i+1, clean(o.Label))
		if o.Description != "" {
			s.printf("  %s", s.faint(clean(o.Description)))
		}
		s.printf("\n")
	}
	for {
		line, err := s.line(ctx, fieldLabel(f), f.Secret)
		if err != nil {
			return nil, err
		}
		v, err := readField(f, strings.TrimSpace(line))
		if err == nil {
			return v, nil
		}
		s.printf("%s\n", s.warn(err.Error()))
	}
}

func fieldLabel(f *contract.QuestionField) string {
	var hints []string
	switch {
	case len(f.Options) > 0 && f.Multiple:
		hints = append(hints, "numbers")
	case len(f.Options) > 0:
		hints = append(hints, "a number")
	}
	if f.Custom || len(f.Options) == 0 {
		hints = append(hints, "text")
	}
	label := strings.Join(hints, " or ")
	if !f.Required {
		label += ", nothing to skip"
	}
	return "[" + label + ", Ctrl-C to decline] "
}

// readField makes the answer of what was typed.
func readField(f *contract.QuestionField, line string) (jsontext.Value, error) {
	if line == "" {
		if f.Required {
			return nil, errors.New("an answer is needed")
		}
		return nil, nil
	}
	values, ok := chosen(f, line)
	if !ok {
		if len(f.Options) > 0 && !f.Custom {
			return nil, fmt.Errorf("want a number from 1 to %d", len(f.Options))
		}
		values = []string{line}
	}
	if f.Multiple {
		return json.Marshal(values)
	}
	if len(values) != 1 {
		return nil, errors.New("want one answer")
	}
	return json.Marshal(values[0])
}

// chosen are the options with the numbers, or the label, in line.
func chosen(f *contract.QuestionField, line string) ([]string, bool) {
	var out []string
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > len(f.Options) {
			out = nil
			break
		}
		out = append(out, optionValue(f.Options[n-1]))
	}
	if out != nil {
		return out, true
	}
	for _, o := range f.Options {
		if strings.EqualFold(o.Label, line) {
			return []string{optionValue(o)}, true
		}
	}
	return nil, false
}

func optionValue(o contract.QuestionOption) string {
	if o.Value != "" {
		return o.Value
	}
	return o.Label
}
