package vt

import (
	"bytes"
	"iter"
)

const (
	// MaxCols and MaxRows bound the size of the screen.
	MaxCols = 1000
	MaxRows = 500
	// maxLink is the longest link that is kept, in bytes.
	maxLink = 4 << 10
	// maxMarks is how many bytes the combining characters of one cell may have.
	maxMarks = 64
	// maxTitle bounds a title, in bytes.
	maxTitle = 1 << 10
)

// Terminal is a terminal. New makes it.
type Terminal struct {
	p          parser
	cols, rows int

	main, alt screen
	on        *screen // the one that is shown
	altMode   int     // the mode that switched to alt: 47, 1047, 1049; 0 while main is on

	cursor      cursor
	pending     bool // the cursor is behind the last column: the next character wraps
	top, bottom int  // the scrolling region: first line, and the one behind the last
	tabs        []bool
	last        rune // what REP repeats: the character before it, 0 for none

	modes   modes
	title   string
	titled  bool           // the program set one
	titles  []string       // pushed ones
	colors  map[int]string // dynamic colours by the number of their OSC
	palette map[int]string

	links  table // of hyperlinks: parameters;URL
	marks  table // of combining characters
	linked int   // bytes of links in what is being painted

	widths widths

	scrollback scrollback
	answers    []byte
	asked      []asked // for which they are, in order
	taken      int     // bytes of Write since answers were taken
}

// asked is a question: how many bytes came up to its end, and where its answer ends.
type asked struct{ behind, answered int }

// New makes a terminal that keeps lines of scrollback. The size is clamped.
func New(cols, rows, scrollbackLines int) *Terminal {
	t := &Terminal{
		links: newTable(), marks: newTable(),
		colors: map[int]string{}, palette: map[int]string{},
		scrollback: scrollback{limit: max(scrollbackLines, 0)},
	}
	t.cols, t.rows = Clamp(cols, rows)
	t.reset()
	return t
}

// Clamp is the nearest size that a terminal can have.
func Clamp(cols, rows int) (int, int) {
	return min(max(cols, 2), MaxCols), min(max(rows, 1), MaxRows)
}

// reset is RIS: all as at the start, but for the size and the scrollback.
func (t *Terminal) reset() {
	t.main = newScreen(t.cols, t.rows)
	t.alt = screen{} // made when it is needed
	t.on, t.altMode = &t.main, 0
	t.cursor, t.pending = cursor{}, false
	t.top, t.bottom = 0, t.rows
	t.tabs = defaultTabs(nil, t.cols)
	t.last = 0
	t.modes = newModes()
	t.title, t.titled, t.titles = "", false, nil
	clear(t.colors)
	clear(t.palette)
}

// Answers takes what the terminal has to say to the program: answers to its questions.
func (t *Terminal) Answers() []byte {
	answers := t.answers
	t.answers, t.asked, t.taken = nil, nil, 0
	return answers
}

// AnswersAt is Answers, each with how many bytes had been written up to the end of its
// question since answers were taken last.
func (t *Terminal) AnswersAt() iter.Seq2[int, []byte] {
	questions := t.asked
	answers := t.Answers()
	return func(yield func(int, []byte) bool) {
		from := 0
		for _, q := range questions {
			if !yield(q.behind, answers[from:q.answered:q.answered]) {
				return
			}
			from = q.answered
		}
	}
}

// answer queues an answer; a program that does nothing but ask can't fill memory.
func (t *Terminal) answer(s string) {
	if len(t.answers) < 1<<16 {
		t.answers = append(t.answers, s...)
	}
}

// Size is the size of the screen.
func (t *Terminal) Size() (cols, rows int) { return t.cols, t.rows }

// Cursor is where the cursor is, from 0.
func (t *Terminal) Cursor() (x, y int) { return t.cursor.x, t.cursor.y }

// Visible says that the cursor is shown.
func (t *Terminal) Visible() bool { return t.modes.visible }

// Alt says that the alternate screen is shown.
func (t *Terminal) Alt() bool { return t.on == &t.alt }

// Paste says that bracketed paste is on.
func (t *Terminal) Paste() bool { return t.modes.private[2004] }

// Title is the window's title.
func (t *Terminal) Title() string { return t.title }

// Lines are the rows as text, without blanks at their ends.
func (t *Terminal) Lines() []string {
	lines := make([]string, t.rows)
	var b []byte
	for y, row := range t.on.rows {
		b = t.appendText(b[:0], row)
		lines[y] = string(bytes.TrimRight(b, " "))
	}
	return lines
}

func (t *Terminal) appendText(b []byte, row []cell) []byte {
	for _, c := range row {
		b = t.appendCell(b, c)
	}
	return b
}

// Resize changes the size of both screens. What does not fit is cut at the right and
// leaves at the top; what is won is blank. The scrolling region is the whole screen.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = Clamp(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	// Lines below the cursor go first, then those at the top.
	up := max(t.cursor.y-(rows-1), 0)
	if t.on == &t.main {
		for _, row := range t.main.rows[:up] {
			t.scrollback.push(row)
		}
		t.main.resize(cols, rows, up)
		t.alt = screen{}
	} else {
		t.main.resize(cols, rows, max(min(t.main.saved.y, t.rows-1)-(rows-1), 0))
		t.alt.resize(cols, rows, up)
	}
	t.tabs = defaultTabs(t.tabs, cols)
	t.cols, t.rows = cols, rows
	t.top, t.bottom = 0, rows
	t.cursor.y -= up
	t.cursor.clamp(cols, rows)
	t.pending = false
	if t.modes.private[2048] {
		t.reportSize()
	}
}

// defaultTabs makes tab stops at every eighth column, behind those that there are.
func defaultTabs(tabs []bool, cols int) []bool {
	for x := len(tabs); x < cols; x++ {
		tabs = append(tabs, x > 0 && x%8 == 0)
	}
	return tabs[:cols]
}
