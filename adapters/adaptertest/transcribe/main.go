// Transcribe turns recordings of real agents, made with other programs, into
// transcripts of this project:
//
//	go run ./adapters/adaptertest/transcribe -agent gemini -out adapters/gemini/testdata/transcripts FILE…
//
// It reads NDJSON whose lines have a direction in "dir" or "d" and a message in
// "msg", "m", "line", "raw" or "data", and bare lines (a file that an agent
// wrote). A recording of several processes becomes several transcripts, NAME-1,
// NAME-2 …, and so does one of several connections. Strings longer than -cut bytes
// are cut and marked.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthost/agenthost/adapters/transcript"
)

func main() {
	agent := flag.String("agent", "", "adapter's name for the header")
	version := flag.String("version", "", "agent's version when the recording does not say")
	out := flag.String("out", ".", "directory for the transcripts")
	cut := flag.Int("cut", 4096, "longest string in a message, in bytes")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "transcribe: want recordings, got none")
		os.Exit(2)
	}
	for _, path := range flag.Args() {
		c := converter{agent: *agent, version: *version, cut: *cut}
		if err := convertFile(c, path, *out); err != nil {
			fmt.Fprintf(os.Stderr, "transcribe: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func convertFile(c converter, path, dir string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	files := c.convert(data)
	for i, f := range files {
		target := name
		if len(files) > 1 {
			target = fmt.Sprintf("%s-%d", name, i+1)
		}
		f.Header.Note = "converted from the recording " + target
		var b bytes.Buffer
		if err := transcript.Write(&b, f); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, target+".jsonl"), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
