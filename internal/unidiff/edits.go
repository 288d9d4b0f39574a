package unidiff

// maxEdits bounds the search for the shortest edit script. Its memory grows with
// the square: 1,000 edits take about 4 MB for the time of the search. Beyond it
// the differing stretch is replaced as a whole.
const maxEdits = 1000

// op is a stretch of lines: kept, deleted from the old or added from the new.
type op struct {
	kind     byte // ' ', '-' or '+'
	from, to int  // lines [from, to) of the old text, for '+' of the new
}

// script returns the stretches that turn a into b, in order. Deletions come
// before additions at one place.
func script(a, b []int) []op {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var ops []op
	ops = push(ops, ' ', 0, head)
	for _, o := range myers(a[head:len(a)-tail], b[head:len(b)-tail]) {
		ops = push(ops, o.kind, o.from+head, o.to+head)
	}
	return push(ops, ' ', len(a)-tail, len(a))
}

// push appends a stretch, joined to the last one where they touch.
func push(ops []op, kind byte, from, to int) []op {
	if from == to {
		return ops
	}
	if n := len(ops); n > 0 && ops[n-1].kind == kind && ops[n-1].to == from {
		ops[n-1].to = to
		return ops
	}
	return append(ops, op{kind, from, to})
}

// myers finds a shortest edit script (E. Myers, An O(ND) Difference Algorithm,
// 1986), the greedy variant that keeps the frontier of each step.
func myers(a, b []int) []op {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return replace(n, m)
	}
	limit := min(n+m, maxEdits)
	frontier := make([]int32, 2*limit+3)
	at := func(k int) *int32 { return &frontier[k+limit+1] }
	var trail [][]int32 // frontier[-d..d] after step d
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && *at(k - 1) < *at(k + 1) {
				x = int(*at(k + 1))
			} else {
				x = int(*at(k - 1)) + 1
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			*at(k) = int32(x)
			if x >= n && x-k >= m {
				return walkBack(trail, n, m, d)
			}
		}
		step := make([]int32, 2*d+1)
		copy(step, frontier[limit+1-d:limit+2+d])
		trail = append(trail, step)
	}
	return replace(n, m)
}

func replace(n, m int) []op { return push(push(nil, '-', 0, n), '+', 0, m) }

// walkBack follows the frontiers from the end to the start.
func walkBack(trail [][]int32, x, y, d int) []op {
	var back []op
	for ; d > 0; d-- {
		prev := trail[d-1] // diagonals -(d-1)..(d-1)
		at := func(k int) int {
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return int(prev[k+d-1])
		}
		k := x - y
		down := k == -d || k != d && at(k-1) < at(k+1)
		px := at(k-1) + 1
		if down {
			px = at(k + 1)
		}
		if x > px {
			back = append(back, op{' ', px, x})
		}
		x, y = px, px-k
		if down {
			y--
			back = append(back, op{'+', y, y + 1})
		} else {
			x--
			back = append(back, op{'-', x, x + 1})
		}
	}
	if x > 0 {
		back = append(back, op{' ', 0, x})
	}
	var ops []op
	for i := len(back) - 1; i >= 0; i-- {
		ops = push(ops, back[i].kind, back[i].from, back[i].to)
	}
	return ordered(ops)
}

// ordered puts deletions before additions between two kept stretches, as every
// diff tool shows them.
func ordered(ops []op) []op {
	var out []op
	for i := 0; i < len(ops); {
		if ops[i].kind == ' ' {
			out = push(out, ' ', ops[i].from, ops[i].to)
			i++
			continue
		}
		j := i
		for j < len(ops) && ops[j].kind != ' ' {
			j++
		}
		for _, kind := range []byte{'-', '+'} {
			for _, o := range ops[i:j] {
				if o.kind == kind {
					out = push(out, kind, o.from, o.to)
				}
			}
		}
		i = j
	}
	return out
}
