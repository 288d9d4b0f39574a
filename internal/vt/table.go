package vt

import "slices"

const (
	// maxTable bounds how many different strings a table has: their numbers are 16 bits.
	maxTable = 1 << 16
	// maxTableBytes bounds what they take, each with entryBytes beside its own: links,
	// and apart from them characters of several code points. When it is reached those
	// that nothing shows any more are dropped; if none are, new ones are shown without
	// what makes them so.
	maxTableBytes = 1 << 20
	// entryBytes is about what an entry takes beside its string.
	entryBytes = 64
	// sweepBytes is how much has to be new until it is looked again what is not shown any
	// more, which means to look at every cell.
	sweepBytes = maxTableBytes / 4
)

// table gives numbers to strings, from 1; 0 is none.
type table struct {
	numbers map[string]uint16
	strings []string // by number; empty ones are free
	free    []uint16
	bytes   int // of all strings, as maxTableBytes counts
	since   int // bytes that were new, or had no room, since the last sweep
}

func newTable() table {
	return table{numbers: map[string]uint16{}, strings: []string{""}, since: sweepBytes}
}

// number is that of s in one of t's tables, 0 when there is no room.
func (t *Terminal) number(in *table, s string) uint16 {
	if n, ok := in.numbers[s]; ok || s == "" {
		return n
	}
	size := len(s) + entryBytes
	if !in.room(size) && in.since >= sweepBytes {
		t.sweep()
	}
	in.since += size
	if !in.room(size) {
		return 0
	}
	var n uint16
	if last := len(in.free) - 1; last >= 0 {
		n, in.free = in.free[last], in.free[:last]
		in.strings[n] = s
	} else {
		n = uint16(len(in.strings))
		in.strings = append(in.strings, s)
	}
	in.numbers[s] = n
	in.bytes += size
	return n
}

func (in *table) room(size int) bool {
	return in.bytes+size <= maxTableBytes && (len(in.free) > 0 || len(in.strings) < maxTable)
}

// sweep drops the strings that nothing shows or will show.
func (t *Terminal) sweep() {
	links, marks := make([]bool, len(t.links.strings)), make([]bool, len(t.marks.strings))
	for _, s := range []*screen{&t.main, &t.alt} {
		links[s.saved.pen.link] = true
		for _, row := range s.rows {
			use(row, links, marks)
		}
	}
	for row := range t.scrollback.all() {
		use(row, links, marks)
	}
	links[t.cursor.pen.link] = true
	t.links.keep(links)
	t.marks.keep(marks)
}

func use(row []cell, links, marks []bool) {
	for i := range row {
		links[row[i].style.link], marks[row[i].marks] = true, true
	}
}

// keep drops the strings that are not used, by number.
func (in *table) keep(used []bool) {
	in.since = 0
	for n, s := range in.strings {
		if s != "" && !used[n] {
			delete(in.numbers, s)
			in.strings[n] = ""
			in.free = append(in.free, uint16(n))
			in.bytes -= len(s) + entryBytes
		}
	}
	in.free = slices.Clip(in.free)
}
