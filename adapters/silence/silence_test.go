package silence

import (
	"strings"
	"testing"
	"time"
)

var start = time.UnixMilli(1796025600000)

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		limit time.Duration
		tool  bool
		want  []time.Duration
	}{
		"silent":    {time.Minute, false, []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}},
		"in a tool": {time.Minute, true, []time.Duration{5 * time.Minute, 25 * time.Minute, 75 * time.Minute}},
		"never":     {0, false, nil},
	} {
		w := New(c.limit)
		if !w.At(c.tool).IsZero() {
			t.Errorf("%s: told before anything was to do", name)
		}
		for range 2 { // a sign of life begins anew
			w.Heard(start)
			for _, after := range c.want {
				if got := w.At(c.tool).Sub(start); got != after {
					t.Errorf("%s: at %v, want %v", name, got, after)
				}
				if got := w.Notice(start.Add(after-1), "it", c.tool); got != "" {
					t.Errorf("%s: too early: %s", name, got)
				}
				got := w.Notice(start.Add(after), "it", c.tool)
				if !strings.Contains(got, "No word from it for "+after.String()) || strings.Contains(got, "A tool") != c.tool {
					t.Errorf("%s: told %q after %v", name, got, after)
				}
			}
			if !w.At(c.tool).IsZero() || w.Notice(start.Add(1000*time.Hour), "it", c.tool) != "" {
				t.Errorf("%s: told more than three times", name)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for v, want := range map[string]time.Duration{"1m": time.Minute, "0s": 0, "0": 0} {
		if got, err := Parse(v); got != want || err != nil {
			t.Errorf("%s = %v, %v, want %v", v, got, err, want)
		}
	}
	for _, v := range []string{"", "soon", "-1s"} {
		if _, err := Parse(v); err == nil {
			t.Errorf("%q = nil error", v)
		}
	}
}
