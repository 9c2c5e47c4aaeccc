// Package align finds what two sequences have in common. The line diffs and the list comparisons of diff use it.
//
// It owns the algorithm and nothing else: small blocks are solved exactly, large ones are first cut at elements, or at short runs of
// them, that occur once on each side, and what has none of those is aligned through a window. So it is never quadratic in its input.
// Through a window it does not always find as much in common as there is, which is correct but coarse.
package align

// Span is a stretch of both sequences: a[A:AEnd] and b[B:BEnd]. If Same, both stretches are equal element by element; else one
// replaces the other, and either may be empty.
type Span struct {
	A, AEnd, B, BEnd int
	Same             bool
}

const (
	// maxExact is how many elements, of both sides together, are aligned exactly.
	maxExact = 512
	// maxDepth bounds how often a block is cut again at unique elements.
	maxDepth = 12
)

// Sequences aligns a and b. The spans are in order, cover both sequences completely, and alternate between Same and not. Where there
// is a choice, what goes comes before what is added. Time is at most O(n·log n + 512·n) for n elements on both sides together.
func Sequences[T comparable](a, b []T) []Span {
	w := newWorker(a, b)
	w.block(0, len(a), 0, len(b), 0)
	return w.out
}

// worker aligns numbers: equal elements have equal ones.
type worker struct {
	a, b []int32
	out  []Span
	// count has what unique counts, by number; it is all zero in between.
	count []seen
	// trace has the rows of one window, see there.
	trace []int32
	// back has the spans of one window, the last first.
	back []Span
	// steps counts what is done, for the tests.
	steps int
}

func newWorker[T comparable](a, b []T) *worker {
	numbers := make(map[T]int32, len(a))
	number := func(list []T) []int32 {
		out := make([]int32, len(list))
		for i, e := range list {
			n, ok := numbers[e]
			if !ok {
				n = int32(len(numbers))
				numbers[e] = n
			}
			out[i] = n
		}
		return out
	}
	w := &worker{a: number(a), b: number(b)}
	w.count = make([]seen, len(numbers))
	return w
}

// emit appends a span, joined with the one before it when both are of a kind.
func (w *worker) emit(s Span) {
	if s.A == s.AEnd && s.B == s.BEnd {
		return
	}
	if n := len(w.out); n > 0 && w.out[n-1].Same == s.Same {
		w.out[n-1].AEnd, w.out[n-1].BEnd = s.AEnd, s.BEnd
		return
	}
	w.out = append(w.out, s)
}

// block aligns a[a0:a1] with b[b0:b1].
func (w *worker) block(a0, a1, b0, b1, depth int) {
	start, startB := a0, b0
	for a0 < a1 && b0 < b1 && w.a[a0] == w.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	w.emit(Span{start, a0, startB, b0, true})
	end, endB := a1, b1
	for a0 < a1 && b0 < b1 && w.a[a1-1] == w.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	w.steps += a0 - start + end - a1
	w.middle(a0, a1, b0, b1, depth)
	w.emit(Span{a1, end, b1, endB, true})
}

func (w *worker) middle(a0, a1, b0, b1, depth int) {
	switch {
	case a0 == a1 || b0 == b1:
		w.emit(Span{a0, a1, b0, b1, false})
	case a1-a0+b1-b0 <= maxExact:
		w.through(a0, a1, b0, b1, maxExact)
	case !w.meet(a0, a1, b0, b1):
		w.emit(Span{a0, a1, b0, b1, false})
	case depth < maxDepth && w.cut(a0, a1, b0, b1, depth):
	default:
		w.through(a0, a1, b0, b1, maxEdits)
	}
}

// meet says that some element is in both blocks.
func (w *worker) meet(a0, a1, b0, b1 int) bool {
	w.steps += a1 - a0 + b1 - b0
	for _, e := range w.a[a0:a1] {
		w.count[e].inA = 1
	}
	meets := false
	for _, e := range w.b[b0:b1] {
		if meets = w.count[e].inA > 0; meets {
			break
		}
	}
	for _, e := range w.a[a0:a1] {
		w.count[e].inA = 0
	}
	return meets
}
