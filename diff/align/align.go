// Package align finds the common parts of two sequences. The line diffs and
// the list comparisons of diff use it.
//
// It owns only the algorithm. It solves small blocks exactly. It first splits large
// blocks at elements, or at short runs of them, that occur once on each side, and
// aligns the parts without any through a window. So it never takes quadratic time.
// Through a window it may miss a part of what is common, which is correct but coarse.
package align

import (
	"slices"
	"sync"
)

// Span is a range of both sequences: a[A:AEnd] and b[B:BEnd]. If Same is set, both are
// equal element by element; otherwise one replaces the other, and either may be empty.
type Span struct {
	A, AEnd, B, BEnd int
	Same             bool
}

const (
	// maxExact is the largest number of elements, of both sides together, that are aligned exactly.
	maxExact = 512
	// maxDepth bounds how often a block is split recursively at unique elements.
	maxDepth = 12
)

// Sequences aligns a and b. The spans are in order, cover both sequences completely, and
// alternate between Same and not Same. Where several results are possible, removals come before
// additions. The time is at most O(n·log n + 512·n) for n elements on both sides together.
func Sequences[T comparable](a, b []T) []Span {
	w := newWorker(a, b)
	w.block(0, len(a), 0, len(b), 0)
	out := append([]Span(nil), w.out...) // nil if there is none, also where w was used before
	spareWorkers.Put(w)
	return out
}

// spareWorkers holds the workers of earlier calls: one takes more memory than most sequences.
var spareWorkers sync.Pool

// worker aligns sequences of numbers, in which equal elements have the same number.
type worker struct {
	a, b []int32
	out  []Span
	// numbers is a map[T]int32 for the elements of one call, and empty between calls.
	numbers any
	// count is indexed by number and used by unique; it is all zero between its calls.
	count []seen
	// trace holds the rows of one window, see window.
	trace []int32
	// back holds the spans of one window, the last first.
	back []Span
	// steps counts the steps of the algorithm, for the tests.
	steps int
}

func newWorker[T comparable](a, b []T) *worker {
	w, ok := spareWorkers.Get().(*worker)
	if !ok {
		w = &worker{}
	}
	numbers, ok := w.numbers.(map[T]int32)
	if !ok {
		numbers = make(map[T]int32, min(len(a), maxExact)) // clearing takes time for its room, not for its elements
	}
	w.a, w.b = number(w.a[:0], a, numbers), number(w.b[:0], b, numbers)
	w.out, w.steps = w.out[:0], 0
	w.count = slices.Grow(w.count[:0], len(numbers))[:len(numbers)]
	if w.numbers = nil; len(numbers) <= maxExact { // clearing a large one takes longer than making a small one
		clear(numbers)
		w.numbers = numbers
	}
	return w
}

// number appends the numbers of the elements of a list, and numbers those that have none.
func number[T comparable](out []int32, list []T, numbers map[T]int32) []int32 {
	out = slices.Grow(out, len(list))
	for _, e := range list {
		n, ok := numbers[e]
		if !ok {
			n = int32(len(numbers))
			numbers[e] = n
		}
		out = append(out, n)
	}
	return out
}

// emit appends a span. It extends the previous span if both are of the same kind.
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

// meet reports whether both blocks have an element in common.
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
