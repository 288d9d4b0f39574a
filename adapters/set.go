package adapters

import "slices"

// Set is an immutable set of adapters by name.
type Set struct{ byName map[string]Adapter }

// NewSet makes a Set. Two adapters of one name are a programming error: the
// later one wins, so that a configured agent can replace a built-in one.
func NewSet(list ...Adapter) Set {
	s := Set{byName: make(map[string]Adapter, len(list))}
	for _, a := range list {
		s.byName[a.Name()] = a
	}
	return s
}

// Get returns the adapter that users call name, and whether there is one.
func (s Set) Get(name string) (Adapter, bool) {
	a, ok := s.byName[name]
	return a, ok
}

// Names lists the names in alphabetical order.
func (s Set) Names() []string {
	names := make([]string, 0, len(s.byName))
	for n := range s.byName {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
