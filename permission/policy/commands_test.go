package policy

import (
	"bufio"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// testEnv is a machine that is not there: its paths lead nowhere.
var testEnv = Env{Home: "/home/u"}

func load(t testing.TB, file string) *Policy {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(data, testEnv)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}

func command(t testing.TB, text string) Request {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": text}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		t.Fatal(err)
	}
	return Request{Tool: "bash", Args: args, Cwd: "/w/app"}
}

// codePoint is <XXXX> in a table.
var codePoint = regexp.MustCompile(`<[0-9A-F]{4,5}>`)

type row struct {
	line    int
	want    Verdict
	command string
}

func rows(t testing.TB, file string) []row {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []row
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		want, text, ok := strings.Cut(s.Text(), "\t")
		if !ok {
			t.Fatalf("%s:%d: want VERDICT<TAB>COMMAND, got %q", file, n, s.Text())
		}
		text = strings.NewReplacer("⏎", "\n", "␀", "\x00", "␍", "\r").Replace(text)
		text = codePoint.ReplaceAllStringFunc(text, func(s string) string {
			n, err := strconv.ParseUint(s[1:len(s)-1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return string(rune(n))
		})
		out = append(out, row{line: n, want: Verdict(want), command: text})
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCommands(t *testing.T) {
	p := load(t, "testdata/commands.yaml")
	list := rows(t, "testdata/commands.txt")
	if len(list) < 300 {
		t.Errorf("the table has %d rows, want 300 at least", len(list))
	}
	for _, r := range list {
		got := Explain(p, command(t, r.command), contract.ModeDefault)
		if got.Verdict != r.want {
			t.Errorf("commands.txt:%d: Judge(%q) = %s, want %s\n%s", r.line, r.command, got.Verdict, r.want, text(got))
		}
	}
}

// What is a megabyte long is judged like what is short, wherever in it stands what no
// rule allows. What has more commands, or may have, than are read is asked about.
func TestLongCommands(t *testing.T) {
	p := load(t, "testdata/commands.yaml")
	const size = 1 << 20
	long := strings.Repeat("x", size)
	for name, c := range map[string]struct {
		command string
		want    Verdict
	}{
		"an argument":               {"echo " + long, Allow},
		"a comment":                 {"git status # " + long, Allow},
		"a comment, then a command": {"git status # " + long + "\nrm x", Ask},
		"a quoted text":             {"echo '" + strings.Repeat("; rm x\n", size/8) + "'", Ask},
		"a here-document":           {"wc -l <<'E'\n" + strings.Repeat("rm x\n", size/5) + "E\nls", Ask},
		"the first of many":         {"rm x; " + strings.Repeat("ls;", size/3), Ask},
		"the last of many":          {strings.Repeat("ls\n", size/3) + "rm x", Ask},
		"an option":                 {"git diff " + strings.Repeat(long[:99]+" ", size/100) + "--output=x", Ask},
		"a program":                 {long + " status", Ask},
		"a deny":                    {"echo " + long + "; rm -rf /etc", Deny},
		"a deny in too many":        {strings.Repeat("ls;", size/3) + "rm -rf /etc", Ask},
		"no end of a quotation":     {"echo '" + long, Ask},
		"deep":                      {strings.Repeat("(", size/2) + "ls" + strings.Repeat(")", size/2), Ask},
		"NUL":                       {"git status " + strings.Repeat("\x00", size), Ask},
	} {
		if got := Explain(p, command(t, c.command), contract.ModeDefault); got.Verdict != c.want {
			t.Errorf("%s: Judge = %s, want %s\n%.400s", name, got.Verdict, c.want, text(got))
		}
	}
}

func text(e Explanation) string {
	var b strings.Builder
	if err := e.WriteText(&b); err != nil {
		return fmt.Sprint(err)
	}
	return b.String()
}
