package align

import "slices"

// maxEdits is the largest number of elements that a window adds or removes. It bounds
// the work: at most twice as many steps for each element that the window advances.
const maxEdits = 256

// through aligns a block with as few edits as possible (Myers, An O(ND) Difference Algorithm
// and Its Variations, 1986), window by window. When a window of this many edits does not
// reach the end, through uses the path that got farthest and starts the next window there.
func (w *worker) through(a0, a1, b0, b1, edits int) {
	for a0 < a1 && b0 < b1 {
		v := window{worker: w, a: w.a[a0:a1], b: w.b[b0:b1]}
		x, y, d := v.reach(edits)
		v.walk(a0, b0, x, y, d)
		a0, b0 = a0+x, b0+y
	}
	w.emit(Span{a0, a1, b0, b1, false})
}

// window is one block. On the diagonal k = x-y, trace[d*d+d+k] is the
// position in a that the best path with d edits reaches, or -1.
type window struct {
	*worker
	a, b []int32
}

// reach finds the point (x, y) that the fewest edits d reach: the end of
// both, or else the farthest one.
func (w window) reach(edits int) (x, y, d int) {
	most := min(edits, len(w.a)+len(w.b))
	w.trace = w.trace[:0]
	for d = 0; d <= most; d++ {
		w.trace = slices.Grow(w.trace, 2*d+1)[:(d+1)*(d+1)]
		x, y = -1, -1
		for k := -d; k <= d; k += 2 {
			i := w.row(d, k)
			if i+i-k > x+y && i >= 0 {
				x, y = i, i-k
			}
		}
		if x == len(w.a) && y == len(w.b) {
			return x, y, d
		}
	}
	return x, y, most
}

// row computes how far d edits reach on diagonal k, including all equal elements from there on.
func (w window) row(d, k int) int {
	i, _, ok := w.next(d, k)
	if !ok {
		w.trace[d*d+d+k] = -1
		return -1
	}
	from := i
	for i < len(w.a) && i-k < len(w.b) && w.a[i] == w.b[i-k] {
		i++
	}
	w.steps += i - from + 1
	w.trace[d*d+d+k] = int32(i)
	return i
}

// next returns where a path with d edits starts on diagonal k: one step from
// its neighbors with d-1, either down, which adds an element of b, or right,
// which removes one of a. It returns not ok if the path leaves the block.
func (w window) next(d, k int) (i int, down, ok bool) {
	if d == 0 {
		return 0, false, true
	}
	i = -1
	if right := w.at(d-1, k-1); right >= 0 && right < len(w.a) {
		i = right + 1
	}
	if below := w.at(d-1, k+1); below >= i && below >= 0 && below-k <= len(w.b) {
		i, down = below, true
	}
	return i, down, i >= 0
}

func (w window) at(d, k int) int {
	if k < -d || k > d {
		return -1
	}
	return int(w.trace[d*d+d+k])
}

// walk emits the path to (x, y) with d edits, from (a0, b0).
func (w window) walk(a0, b0, x, y, d int) {
	back := w.back[:0]
	for ; ; d-- {
		i, down, _ := w.next(d, x-y)
		j := i - (x - y)
		back = append(back, Span{a0 + i, a0 + x, b0 + j, b0 + y, true})
		if d == 0 {
			break
		}
		if x, y = i-1, j; down {
			x, y = i, j-1
		}
		back = append(back, Span{a0 + x, a0 + i, b0 + y, b0 + j, false})
	}
	for _, s := range slices.Backward(back) {
		w.emit(s)
	}
	w.back = back
}
