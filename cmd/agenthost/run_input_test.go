package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 5000)
	r := bufio.NewReaderSize(strings.NewReader("one\n"+long+"\n\n"+long[:99]+"\n"+long), 16)
	for i, want := range []struct {
		line    string
		dropped int64
		err     error
	}{
		{"one\n", 0, nil}, {"", 5001, nil}, {"\n", 0, nil}, {long[:99] + "\n", 0, nil}, {"", 5000, io.EOF}, {"", 0, io.EOF},
	} {
		line, dropped, err := readLine(r, 100)
		if string(line) != want.line || dropped != want.dropped || !errors.Is(err, want.err) {
			t.Errorf("line %d: got %q, %d, %v; want %q, %d, %v", i, line, dropped, err, want.line, want.dropped, want.err)
		}
		if cap(line) > 200 {
			t.Errorf("line %d: holds %d bytes, want no more than its limit", i, cap(line))
		}
	}
}

func TestDecodeInputErrors(t *testing.T) {
	for line, want := range map[string]string{
		`[]`:               `want a JSON object like {"ev":{"t":"text","text":"hi"}}, got an array`,
		`5`:                `want a JSON object like {"ev":{"t":"text","text":"hi"}}, got a number`,
		`{"role":5}`:       `role: want a string, got a number`,
		`{"id":{"a":1}}`:   `id: want a string, got an object`,
		`{"role":"agent"}`: `role: want "user", got "agent"`,
		`null`:             `ev: want an object, got nothing`,
		`{"ev":`:           `want a JSON object like`,
	} {
		_, err := decodeInput([]byte(line))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "main.") {
			t.Errorf("decodeInput(%s) = %v, want %s", line, err, want)
		}
	}
}
