package acp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
)

// errEmptyPrompt: an empty prompt wedges one agent for ever and is an error to
// others.
var errEmptyPrompt = errors.New("the prompt is empty: want a text or a file")

// blocks makes the content of a prompt from its text and files, in the richest
// form that the agent takes.
func (p *Protocol) blocks(text string, files []adapters.Attachment) ([]any, error) {
	var list []any
	if !blank(text) {
		list = append(list, textBlock{"text", text})
	}
	images := 0
	for _, f := range files {
		b, err := p.block(f)
		if err != nil {
			return nil, err
		}
		if _, ok := b.(mediaBlock); ok {
			images++
		}
		list = append(list, b)
	}
	if len(list) == 0 {
		return nil, errEmptyPrompt
	}
	if p.spec.Quirks.ImagesAlone && images > 0 && images < len(files) {
		return nil, fmt.Errorf("%s loses images that go with other files: send them apart: %w", p.name(), adapters.ErrUnsupported)
	}
	return list, nil
}

// mediaBlock is a content block of type image or audio.
type mediaBlock struct {
	Type string `json:"type"`
	MIME string `json:"mimeType"`
	Data string `json:"data"`
	URI  string `json:"uri,omitzero"`
}

// linkBlock is a content block of type resource_link.
type linkBlock struct {
	Type string `json:"type"`
	URI  string `json:"uri"`
	Name string `json:"name"`
	MIME string `json:"mimeType,omitzero"`
	Size int    `json:"size,omitzero"`
}

// resourceBlock is a content block of type resource with a text.
type resourceBlock struct {
	Type     string `json:"type"`
	Resource struct {
		URI  string `json:"uri"`
		MIME string `json:"mimeType,omitzero"`
		Text string `json:"text"`
	} `json:"resource"`
}

func (p *Protocol) block(f adapters.Attachment) (any, error) {
	can := p.agent.caps.Get("promptCapabilities")
	kind, _, _ := strings.Cut(f.MIME, "/")
	switch {
	case f.Data != nil && (kind == "image" || kind == "audio") && can.Get(kind).True():
		return mediaBlock{Type: kind, MIME: f.MIME, Data: base64.StdEncoding.EncodeToString(f.Data)}, nil
	case f.Data != nil && kind != "image" && kind != "audio" && utf8.Valid(f.Data) && can.Get("embeddedContext").True():
		b := resourceBlock{Type: "resource"}
		b.Resource.URI, b.Resource.MIME, b.Resource.Text = fileURI(f), f.MIME, string(f.Data)
		return b, nil
	case f.Path != "":
		return linkBlock{Type: "resource_link", URI: fileURI(f), Name: fileName(f), MIME: f.MIME, Size: len(f.Data)}, nil
	}
	return nil, fmt.Errorf("%s takes no file of type %q without a path: %w", p.name(), f.MIME, adapters.ErrUnsupported)
}

func fileName(f adapters.Attachment) string {
	if f.Name != "" {
		return f.Name
	}
	return f.Path[strings.LastIndexAny(f.Path, `/\`)+1:]
}

func fileURI(f adapters.Attachment) string {
	path := f.Path
	if path == "" {
		path = "/" + f.Name
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
