package rawjson

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func mustParse(t *testing.T, s string) Value {
	t.Helper()
	v, err := Parse([]byte(s))
	if err != nil {
		t.Fatalf("Parse(%q) = %v", s, err)
	}
	return v
}

func TestParse(t *testing.T) {
	for _, s := range []string{
		`{}`, ` [1] `, "\xef\xbb\xbf{\"a\":1}", `"\ud83d"`, "\"\xff\"", `{"a":1,"a":2}`, `null`, `-1.5e3`, "{\"a\" :\t[ ] }\r",
	} {
		if _, err := Parse([]byte(s)); err != nil {
			t.Errorf("Parse(%q) = %v, want no error", s, err)
		}
	}
	for _, s := range []string{``, ` `, `{`, `{"a"}`, `nul`, `hello`, `{} {}`, `{"a":1}x`, `'a'`, `[1,]`, "\"\n\"", `"\x"`} {
		if _, err := Parse([]byte(s)); err == nil {
			t.Errorf("Parse(%q) gave no error", s)
		}
	}
}

func TestGet(t *testing.T) {
	v := mustParse(t, ` { "a" : {"b":[1, {"c":"x"}]} , "id":0, "dup":1, "dup":"two", "n":null, "esc\u0061pe":true, "q\"":"\\\"" } `)
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"a"}, `{"b":[1, {"c":"x"}]}`},
		{[]string{"a", "b"}, `[1, {"c":"x"}]`},
		{[]string{"id"}, `0`},
		{[]string{"dup"}, `"two"`},
		{[]string{"n"}, `null`},
		{[]string{"escape"}, `true`},
		{[]string{`q"`}, `"\\\""`},
		{[]string{"none"}, ``},
		{[]string{"id", "deeper"}, ``},
		{[]string{"n", "deeper"}, ``},
	} {
		if got := string(v.Get(c.path...)); got != c.want {
			t.Errorf("Get(%q) = %s, want %s", c.path, got, c.want)
		}
	}
	if got := string(slices.Collect(v.Get("a", "b").Elements())[1].Get("c")); got != `"x"` {
		t.Errorf("element's member = %s, want %q", got, "x")
	}
}

func TestKinds(t *testing.T) {
	for s, want := range map[string]struct {
		kind  Kind
		empty bool
		int   int64
		isInt bool
	}{
		`{}`: {Object, true, 0, false}, `{ "a":1}`: {Object, false, 0, false}, `[ ]`: {Array, true, 0, false},
		`[0]`: {Array, false, 0, false}, `""`: {String, true, 0, false}, `"7"`: {String, false, 7, true},
		`"x"`: {String, false, 0, false}, `0`: {Number, false, 0, true}, `3.0`: {Number, false, 3, true},
		`3.5`: {Number, false, 0, false}, `9007199254740993`: {Number, false, 9007199254740993, true},
		`1e30`: {Number, false, 0, false}, `true`: {Bool, false, 0, false}, `null`: {Null, true, 0, false},
	} {
		v := mustParse(t, s)
		if v.Kind() != want.kind || v.Empty() != want.empty {
			t.Errorf("%s: kind %q, empty %v; want %q, %v", s, v.Kind(), v.Empty(), want.kind, want.empty)
		}
		if n, ok := v.Int(); n != want.int || ok != want.isInt {
			t.Errorf("%s: Int() = %d, %v, want %d, %v", s, n, ok, want.int, want.isInt)
		}
	}
	var none Value
	if none.Kind() != Absent || none.Given() || !none.Empty() || none.Text() != "" || none.Get("a") != nil || none.Clean() != nil {
		t.Error("the zero Value is not absent")
	}
}

func TestText(t *testing.T) {
	for s, want := range map[string]string{
		`"plain"`: "plain", `"\ud83d\ude00"`: "😀", `"\ud83d"`: "\ufffd", `"\ude00x"`: "\ufffdx", `"\ud800\n"`: "\ufffd\n",
		`"\u00e9\/\b\f\r\t\"\\"`: "é/\b\f\r\t\"\\", `"\ud83d\u0041"`: "\ufffdA", `"\\ud83d"`: `\ud83d`, "\"a\xffb\"": "a\ufffdb", `5`: "",
	} {
		if got := mustParse(t, s).Text(); got != want {
			t.Errorf("Text(%s) = %q, want %q", s, got, want)
		}
	}
}

// TestJoiner: rule E9 of the contract: a code point cut by a chunk border is
// joined first.
func TestJoiner(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string // JSON strings
		want   []string
		flush  string
	}{
		"surrogates":    {[]string{`"a\ud83d"`, `"\ude00b"`}, []string{"a", "😀b"}, ""},
		"utf8":          {[]string{"\"\xf0\x9f\"", "\"\x98\x80\""}, []string{"", "😀"}, ""},
		"one byte each": {[]string{"\"\xe2\"", "\"\x82\"", "\"\xac\""}, []string{"", "", "€"}, ""},
		"never joined":  {[]string{`"a\ud83d"`, `"b"`}, []string{"a", "\ufffdb"}, ""},
		"at the end":    {[]string{`"a\ud83d"`}, []string{"a"}, "\ufffd"},
		"empty between": {[]string{`"\ud83d"`, `""`, `"\ude00"`}, []string{"", "", "😀"}, ""},
		"low alone":     {[]string{`"\ude00"`}, []string{"\ufffd"}, ""},
	} {
		var j Joiner
		var got []string
		for _, p := range c.pieces {
			got = append(got, j.Add(mustParse(t, p).Wobbly()))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := j.Flush(); got != c.flush {
			t.Errorf("%s: Flush() = %q, want %q", name, got, c.flush)
		}
	}
}

// TestClean: case B015 and B017 of the bug log, in raw JSON that is passed on.
func TestClean(t *testing.T) {
	for s, want := range map[string]string{
		`{"a":"\ud83d","b":"\ud83d\ude00","c":"<&>"}`: `{"a":"` + "\ufffd" + `","b":"😀","c":"<&>"}`,
		"{\"a\xff\":1}": "{\"a\ufffd\":1}", `{"a":"\\ud83d"}`: `{"a":"\\ud83d"}`, "[1,\n 2]": "[1, 2]", `"\ud800\n"`: "\"\ufffd\\n\"",
		`{"id":9007199254740993,"x":1e400}`: `{"id":9007199254740993,"x":1e400}`,
	} {
		if got := string(mustParse(t, s).Clean()); got != want {
			t.Errorf("Clean(%s) = %s, want %s", s, got, want)
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, s := range []string{
		`{"a":{"b":[1,"x\"y",{"c":null}]},"d":"\ud83d"}`, "\"\xff\xf0\x9f\"", `[[],{}, "\\", "\\\"", "\u00e9"]`, `{"":{}}`, `"\ud83d\ude00"`,
		"\"\xe9\xb2\xed\xb2\xb2\xe9\"", "\"\xed\xa0\xbd\xed\xb8\x80\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		v, err := Parse(line)
		if err != nil {
			return
		}
		walk(t, v)
		c := v.Clean()
		if !utf8.Valid(c) || !c.IsValid() && !duplicates(c) {
			t.Fatalf("Clean(%q) = %q is not strict JSON", line, c)
		}
		if wobbly(line) {
			return // raw surrogates: each byte is broken to encoding/json, to us they are one character
		}
		// encoding/json is lenient as we are, and the two must read the same.
		var a, b any
		errA, errB := json.Unmarshal(v, &a), json.Unmarshal(c, &b)
		if errA != nil || errB != nil {
			return // deeper than encoding/json goes, or a number beyond it
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Fatalf("Clean(%q) reads as %s, want %s", line, y, x)
		}
	})
}

// wobbly reports whether surrogates stand in a text as the bytes of WTF-8.
func wobbly(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == 0xed && text[i+1]&0xe0 == 0xa0 {
			return true
		}
	}
	return false
}

func duplicates(v []byte) bool { return json.Valid(v) }

func walk(t *testing.T, v Value) {
	for name, m := range v.Members() {
		if !utf8.ValidString(name) {
			t.Fatalf("name %q is not UTF-8", name)
		}
		walk(t, m)
	}
	for e := range v.Elements() {
		walk(t, e)
	}
	if s := v.Text(); !utf8.ValidString(s) {
		t.Fatalf("Text(%q) = %q is not UTF-8", v, s)
	}
	var j Joiner
	w := v.Wobbly()
	if got := j.Add(w) + j.Flush(); len(w) < 1000 && got != Repair(w) {
		t.Fatalf("joined %q, want %q", got, Repair(w))
	}
	v.Int()
	v.Float()
	v.Empty()
}

// A text of many MB is copied once.
func TestHugeText(t *testing.T) {
	v := Value(`"` + strings.Repeat(`a line of it\n`, 1<<20) + `"`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := v.Wobbly()
	runtime.ReadMemStats(&after)
	if text != strings.Repeat("a line of it\n", 1<<20) {
		t.Fatal("the text is another")
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(v))*5/4 {
		t.Errorf("a text of %d bytes took %d", len(text), used)
	}
}
