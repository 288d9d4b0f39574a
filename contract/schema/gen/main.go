// Command gen writes the JSON Schemas of the contract into the directory it runs
// in, which is contract/schema (see the go:generate line there).
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/gosource"
)

func main() {
	files, err := generate("..")
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// generate makes all schemas by their file names. dir is the directory of
// package contract.
func generate(dir string) (map[string][]byte, error) {
	envelopes, err := gosource.Read(dir)
	if err != nil {
		return nil, err
	}
	sessions, err := gosource.Read(filepath.Join(dir, "session"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, schema := range map[string]*jsonschema.Schema{
		"envelope.extended.schema.json": envelopeSchema(envelopes, contract.ProfileExtended),
		"envelope.strict.schema.json":   envelopeSchema(envelopes, contract.ProfileStrict),
		"session.schema.json":           sessionSchema(sessions),
	} {
		if files[name], err = document(name, schema); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", name, err)
		}
	}
	return files, nil
}

// document is a schema as a file. What it is comes first, for people; the
// encoder would put it behind the properties.
func document(name string, schema *jsonschema.Schema) ([]byte, error) {
	head, err := json.MarshalIndent(struct {
		Schema string `json:"$schema"`
		ID     string `json:"$id"`
		Title  string `json:"title"`
	}{"https://json-schema.org/draft/2020-12/schema", "https://github.com/agenthost/agenthost/contract/schema/" + name, schema.Title}, "", "  ")
	if err != nil {
		return nil, err
	}
	schema.Title = ""
	body, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, err
	}
	text := append(bytes.TrimSuffix(head, []byte("\n}")), ',')
	return append(append(text, bytes.TrimPrefix(body, []byte("{"))...), '\n'), nil
}
