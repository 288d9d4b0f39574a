package claude

import (
	"encoding/base64"
	"fmt"
	"mime"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
)

// content is the content of a user message: a string, or blocks when files go
// along. Pictures and documents go inline when their data is there; any other
// file on this machine is mentioned by its path, which the CLI then reads.
func content(text string, files []adapters.Attachment) ([]byte, error) {
	var blocks [][]byte
	var mentions []string
	// The CLI reads what a plain text mentions, not what a text beside blocks does.
	plain := slices.ContainsFunc(files, mentioned)
	for _, f := range files {
		if plain && f.Path != "" {
			f.Data = nil
		}
		b, mention, err := attach(f)
		if err != nil {
			return nil, err
		}
		if b != nil {
			blocks = append(blocks, b)
		} else {
			mentions = append(mentions, mention)
		}
	}
	if len(mentions) > 0 {
		if text != "" {
			text += "\n\n"
		}
		text += strings.Join(mentions, " ")
	}
	if len(blocks) == 0 {
		return quote(text), nil
	}
	if text != "" {
		blocks = append([][]byte{textBlock(text)}, blocks...)
	}
	return array(blocks...), nil
}

func textBlock(text string) []byte {
	return new(object).str("type", "text").str("text", text).value()
}

// mentioned reports whether a file can only go as a mention.
func mentioned(f adapters.Attachment) bool {
	b, _, err := attach(f)
	return err == nil && b == nil
}

// attach makes the block of a file, or its mention.
func attach(f adapters.Attachment) (block []byte, mention string, err error) {
	kind, _, _ := mime.ParseMediaType(f.MIME)
	switch {
	case len(f.Data) > 0 && picture(kind):
		return sourceBlock("image", "base64", kind, base64.StdEncoding.EncodeToString(f.Data), ""), "", nil
	case len(f.Data) > 0 && kind == "application/pdf":
		return sourceBlock("document", "base64", kind, base64.StdEncoding.EncodeToString(f.Data), f.Name), "", nil
	case f.Path != "":
		return nil, mentionOf(f.Path), nil
	case len(f.Data) > 0 && utf8.Valid(f.Data):
		return sourceBlock("document", "text", "text/plain", string(f.Data), f.Name), "", nil
	}
	return nil, "", fmt.Errorf("claude: file %q of type %q: want a picture (png, jpeg, gif, webp), a PDF, a text, or a file on this machine",
		f.Name, f.MIME)
}

// picture reports whether the API takes a type as an image.
func picture(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

func sourceBlock(kind, how, media, data, title string) []byte {
	source := new(object).str("type", how).str("media_type", media).str("data", data)
	b := new(object).str("type", kind).raw("source", source.value())
	if title != "" {
		b.str("title", title)
	}
	return b.value()
}

// mentionOf is how a prompt names a file that the CLI reads itself.
func mentionOf(path string) string {
	path = filepath.Clean(path)
	if strings.ContainsAny(path, " \t") {
		return `@"` + path + `"`
	}
	return "@" + path
}
