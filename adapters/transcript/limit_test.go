package transcript

import (
	"errors"
	"strings"
	"testing"
)

func TestReaderSkipsTooLongLines(t *testing.T) {
	text := `{"transcript":1}` + "\n" + `{"t":1,"d":"out","raw":"` + strings.Repeat("x", 200<<10) + `"}` + "\n" + `{"t":2,"d":"tick"}`
	r, err := NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.limit = 100 << 10
	_, err = r.Next()
	var bad *LineError
	if !errors.As(err, &bad) || bad.Line != 2 {
		t.Fatalf("Next = %v, want an error of line 2", err)
	}
	rec, err := r.Next()
	if err != nil || rec.Dir != Tick {
		t.Errorf("Next after a long line = %+v, %v, want the tick", rec, err)
	}
}
