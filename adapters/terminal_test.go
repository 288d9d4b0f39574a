package adapters

import "testing"

// What is typed on somebody's behalf presses no keys: whatever it holds, it cannot end
// its own paste.
func TestTypeable(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain, é and 漢":            "plain, é and 漢",
		"a\tb\n":                    "a\tb\n",
		"one\r\ntwo\rthree":         "one\ntwo\nthree",
		"a\x1b[201~\x03\x7f\u009bb": "a[201~b",
		"half \xff":                 "half \uFFFD",
	} {
		if got := Typeable(text); got != want {
			t.Errorf("Typeable(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := Pasted("a\nb"), "\x1b[200~a\nb\x1b[201~"; got != want {
		t.Errorf("Pasted = %q, want %q", got, want)
	}
}
