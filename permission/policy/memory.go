package policy

import (
	"sync"

	"github.com/agenthost/agenthost/permission/shell"
)

// memory is what an analysis leaves to the next one. Every decision waits for one,
// and a collection of garbage costs more than most of them.
type memory struct {
	links  links
	places []place
	uses   []item
	words  []shell.Word
	judged []judgement
}

// placeBlock is how many places are asked memory for at once; maxKept is the longest
// list whose memory is kept.
const (
	placeBlock = 16
	maxKept    = 256
)

// keep gives p a place in memory.
func (m *memory) keep(p place) *place {
	if len(m.places) == cap(m.places) {
		// The former ones stay where they are.
		m.places = make([]place, 0, placeBlock)
	}
	m.places = append(m.places, p)
	return &m.places[len(m.places)-1]
}

var analyses = sync.Pool{New: func() any { return new(Analysis) }}

func newAnalysis() *Analysis { return analyses.Get().(*Analysis) }

// Release gives a's memory to another analysis. Nobody may use a after it; one that is
// not released is collected as any value.
func (a *Analysis) Release() {
	if a.script != nil {
		a.script.Slim()
	}
	if len(a.profiles) > maxKept {
		a.profiles = nil
	}
	clear(a.profiles)
	m := &a.memory
	*a = Analysis{
		items: emptied(a.items), operands: emptied(a.operands), profiles: a.profiles,
		memory: memory{
			links:  links{known: emptied(m.links.known), direct: emptied(m.links.direct), lists: emptied(m.links.lists)},
			places: emptied(m.places), uses: emptied(m.uses), words: emptied(m.words), judged: emptied(m.judged),
		},
	}
	analyses.Put(a)
}

// emptied is list without its elements, which nothing may hold on to.
func emptied[T any](list []T) []T {
	if cap(list) > maxKept {
		return nil
	}
	clear(list[:cap(list)])
	return list[:0]
}
