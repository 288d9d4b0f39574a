package policy

import (
	"reflect"
	"sync"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// told is all that leaves an analysis.
type told struct {
	e      Explanation
	key    string
	can    bool
	covers []string
	places string
}

func tell(p *Policy, q Request) (told, *Analysis) {
	a := p.Analyse(q)
	x := told{e: p.Judge(a, contract.ModeDefault), covers: a.Covers(), places: a.Places()}
	x.key, x.can = a.Key()
	return x, a
}

// An analysis in the memory of another says what one of its own says, and what it has
// said stays as it is when its memory goes on.
func TestReleasedMemory(t *testing.T) {
	p := load(t, "testdata/commands.yaml")
	list := rows(t, "testdata/commands.txt")
	want := make([]told, len(list))
	for i, r := range list {
		want[i], _ = tell(p, command(t, r.command))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			got := make([]told, len(list))
			for i := range list {
				k := (i + g*len(list)/4) % len(list)
				var a *Analysis
				got[k], a = tell(p, command(t, list[k].command))
				a.Release()
			}
			for i := range list {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%q: in memory that was used before %+v, want %+v", list[i].command, got[i], want[i])
				}
			}
		})
	}
	wg.Wait()
}
