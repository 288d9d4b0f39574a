package scriptmodel

import (
	"fmt"
	"strings"
	"testing"
)

func TestFindScript(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		ok               bool
	}{
		{"none", "hello\nworld", "", false},
		{"word in a line", "my SCRIPT: is not one", "", false},
		{"whole", "SCRIPT: text a", "text a", true},
		{"indented", "  SCRIPT:text a", "text a", true},
		{"after text", "Do it.\nSCRIPT: text a ;; text b", "text a ;; text b", true},
		{"lines", "SCRIPT:\ntext a\ntext b\n", "text a\ntext b", true},
		{"up to an empty line", "SCRIPT: text a\ntext b\n\nnot this", "text a\ntext b", true},
		{"up to a closing tag", "<x>\nSCRIPT: text a\n</x>\nnot this", "text a", true},
		{"windows line ends", "hi\r\nSCRIPT: text a\r\ntext b\r\n\r\nno", "text a\ntext b", true},
		{"the first counts", "SCRIPT: text a\n\nSCRIPT: text b", "text a", true},
		{"empty", "SCRIPT:", "", true},
	} {
		got, ok := findScript(tt.text)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: findScript(%q) = %q, %v, want %q, %v", tt.name, tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

// show writes a script so that tests can compare it: acts by + and steps by lines.
func show(sc script) string {
	var b strings.Builder
	for _, st := range sc.steps {
		for i, a := range st {
			if i > 0 {
				b.WriteString(" + ")
			}
			b.WriteString(a.verb)
			if a.id != "" {
				b.WriteString("@" + a.id)
			}
			for _, w := range a.words {
				fmt.Fprintf(&b, " %q", w)
			}
			for _, n := range a.nums {
				fmt.Fprintf(&b, " %d", n)
			}
			if a.limit != always {
				fmt.Fprintf(&b, " limit %d", a.limit)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestParseScript(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"steps", "text a ;; text b\ntext c", "text \"a\"\ntext \"b\"\ntext \"c\"\n"},
		{"acts", "text a ++ shell ls -la && pwd", "text \"a\" + shell \"ls -la && pwd\"\n"},
		{"line that goes on", "text a\n++ shell ls\ntext b", "text \"a\" + shell \"ls\"\ntext \"b\"\n"},
		{"dividers at the ends", ";; text a ;;", "text \"a\"\n"},
		{"empty steps", "text a ;; ;; text b", "text \"a\"\ntext \"b\"\n"},
		{"comments", "# s1\ntext a # not one\n  # two", "text \"a # not one\"\n"},
		{"divider in quotes", `text "a ;; b ++ c" ;; text d`, "text \"a ;; b ++ c\"\ntext \"d\"\n"},
		{"divider in JSON", `tool task {"prompt":"SCRIPT: text a ;; text b"}`, "tool \"task\" \"{\\\"prompt\\\":\\\"SCRIPT: text a ;; text b\\\"}\"\n"},
		{"escaped quote", `text "a \" ;; b"`, "text \"a \\\" ;; b\"\n"},
		{"open quote", `text 5" wide ;; text b`, "text \"5\\\" wide\"\ntext \"b\"\n"},
		{"quotes inside a text", `text say "hi" now`, "text \"say \\\"hi\\\" now\"\n"},
		{"escapes", `write "a b.txt" "one\ntwo\u0041"`, "write \"a b.txt\" \"one\\ntwoA\"\n"},
		{"edit", `edit f.go old "new text"`, "edit \"f.go\" \"old\" \"new text\"\n"},
		{"tool without arguments", "tool list", "tool \"list\" \"{}\"\n"},
		{"mcp", `mcp srv echo {"a":1}`, "mcp \"srv\" \"echo\" \"{\\\"a\\\":1}\"\n"},
		{"call id", "shell@call_1 ls", "shell@call_1 \"ls\"\n"},
		{"counts", "error once 503 busy\ndrop 3x\nhang always\ntext a", "error \"busy\" 503 limit 1 + drop limit 3 + hang + text \"a\"\n"},
		{"error without a text", "error 400", "error \"scripted error\" 400\n"},
		{"fail", "text a ++ fail twice overloaded_error too busy", "text \"a\" + fail \"overloaded_error\" \"too busy\" limit 2\n"},
		{"silent acts join the next step", "think hm\nusage 1 2 3 4\nslow 5\ntext a ;; text b", "think \"hm\" + usage 1 2 3 4 + slow 5 + text \"a\"\ntext \"b\"\n"},
		{"an error may come last", "text a ;; error 500 boom", "text \"a\"\nerror \"boom\" 500\n"},
		{"chunks", "chunks 3 10", "chunks 3 10\n"},
		{"all the rest", "read a ++ task do it ++ empty once ++ raw {} ++ wait 1 ++ hold gate ++ finish safety ++ badsse", "read \"a\" + task \"do it\" + empty limit 1 + raw \"{}\" + wait 1 + hold \"gate\" + finish \"safety\" + badsse\n"},
	} {
		sc, err := parseScript(tt.text)
		if err != nil {
			t.Errorf("%s: parseScript(%q): %v", tt.name, tt.text, err)
			continue
		}
		if got := show(sc); got != tt.want {
			t.Errorf("%s: parseScript(%q) =\n%swant\n%s", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestParseScriptErrors(t *testing.T) {
	for text, want := range map[string]string{
		"say hello":              `step 1: unknown verb "say"`,
		"text a ;; txt b":        `step 2: unknown verb "txt"`,
		"text":                   "text: want a text",
		"write a.txt":            "write: want a text",
		"edit a.txt":             "edit: want one more word",
		"read a b":               `read: want no more arguments, got "b"`,
		"tool x [1]":             `tool: got "[1]", want a JSON object`,
		"tool x {\"a\":":         "want a JSON object",
		"chunks 3":               "chunks: got 1 numbers, want 2 to 2",
		"chunks 99999 99999":     "chunks: got 99999 times 99999, want at most",
		"usage 1 x":              `usage: got "x", want a number >= 0`,
		"error teapot":           `error: got "teapot", want an HTTP status from 400 to 599`,
		"error 200 fine":         "want an HTTP status from 400 to 599",
		"finish never ++ text a": `finish: got "never", want max_tokens, safety, malformed or stop`,
		"text a ++ error 500 x":  "error must come before any content",
		"text a\nusage 1 2":      `the last step says nothing: join "usage" to the step it belongs to with ++`,
		"text@id a":              "text: an id is for tool calls",
		`text "\q"`:              "want a JSON string",
	} {
		_, err := parseScript(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseScript(%q): got error %v, want %q", text, err, want)
		}
	}
}

// Whatever the text, parsing it says what is wrong or gives steps that each
// answer or fail.
func FuzzParseScript(f *testing.F) {
	for _, s := range []string{"text a ;; shell ls ++ think x", `tool a {"b":" ;; "}`, "error once 503 x\ntext y", "# c\n++ text", `"`, "write \"a\" \"\\u00e9\"", " ;;  ;; ++ "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sc, err := parseScript(text)
		if err != nil {
			return
		}
		for _, st := range sc.steps {
			if !st.answers() && !st.fails() {
				t.Fatalf("parseScript(%q) has a step that says nothing: %+v", text, st)
			}
			if err := st.check(); err != nil {
				t.Fatalf("parseScript(%q): %v", text, err)
			}
		}
	})
}
