package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// kit are a parser and a printer, which cost more to make than a short script to
// read. One goroutine uses them at a time.
type kit struct {
	parser  *syntax.Parser
	printer *syntax.Printer
}

func newKit() *kit {
	return &kit{parser: syntax.NewParser(syntax.Variant(syntax.LangBash)), printer: syntax.NewPrinter()}
}

func (k *kit) parse(src string) (*syntax.File, error) {
	return k.parser.Parse(strings.NewReader(src), "")
}

// kits lends them. A nil *kits makes new ones.
type kits struct{ pool sync.Pool }

func (k *kits) take() *kit {
	if k != nil {
		if got, ok := k.pool.Get().(*kit); ok {
			return got
		}
	}
	return newKit()
}

// give takes a kit back that read src, unless it holds too much of it. One that
// panicked is not given back.
func (k *kits) give(used *kit, src int) {
	if k != nil && src <= maxCachedText {
		k.pool.Put(used)
	}
}
