// Package align finds what two sequences have in common. The line diffs and the list comparisons of diff use it.
//
// It owns the algorithm and nothing else: small blocks are solved exactly, large ones are first cut at elements that occur once
// on each side. So it is never quadratic in its input, and what it cannot solve cheaply it calls changed, which is correct but
// coarse.
package align

import "sort"

// Span is a stretch of both sequences: a[A:AEnd] and b[B:BEnd]. If Same, both stretches are equal element by element; else one
// replaces the other, and either may be empty.
type Span struct {
	A, AEnd, B, BEnd int
	Same             bool
}

const (
	// maxExact bounds the table of the exact method (elements of one side times elements of the other).
	maxExact = 1 << 16
	// maxDepth bounds how often a block is cut again at unique elements.
	maxDepth = 12
)

// Sequences aligns a and b. The spans are in order, cover both sequences completely, and alternate between Same and not. Time is
// at most O(n·log n + 256·n) for n elements on both sides together.
func Sequences[T comparable](a, b []T) []Span {
	w := &worker[T]{a: a, b: b}
	w.block(0, len(a), 0, len(b), 0)
	return w.out
}

type worker[T comparable] struct {
	a, b []T
	out  []Span
}

// emit appends a span, joined with the one before it when both are of a kind.
func (w *worker[T]) emit(s Span) {
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
func (w *worker[T]) block(a0, a1, b0, b1, depth int) {
	start, startB := a0, b0
	for a0 < a1 && b0 < b1 && w.a[a0] == w.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	w.emit(Span{start, a0, startB, b0, true})
	end, endB := a1, b1
	for a0 < a1 && b0 < b1 && w.a[a1-1] == w.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	w.middle(a0, a1, b0, b1, depth)
	w.emit(Span{a1, end, b1, endB, true})
}

func (w *worker[T]) middle(a0, a1, b0, b1, depth int) {
	switch {
	case a0 == a1 || b0 == b1:
		w.emit(Span{a0, a1, b0, b1, false})
	case (a1-a0)*(b1-b0) <= maxExact:
		w.exact(a0, a1, b0, b1)
	case depth >= maxDepth:
		w.emit(Span{a0, a1, b0, b1, false})
	default:
		w.cut(a0, a1, b0, b1, depth)
	}
}

// exact finds a longest common subsequence with the textbook table.
func (w *worker[T]) exact(a0, a1, b0, b1 int) {
	n, m := a1-a0, b1-b0
	table := make([]int32, (n+1)*(m+1))
	at := func(i, j int) *int32 { return &table[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if w.a[a0+i] == w.b[b0+j] {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	for i, j := 0, 0; i < n || j < m; {
		switch {
		case i < n && j < m && w.a[a0+i] == w.b[b0+j]:
			w.emit(Span{a0 + i, a0 + i + 1, b0 + j, b0 + j + 1, true})
			i, j = i+1, j+1
		case j == m || (i < n && *at(i+1, j) >= *at(i, j+1)):
			w.emit(Span{a0 + i, a0 + i + 1, b0 + j, b0 + j, false})
			i++
		default:
			w.emit(Span{a0 + i, a0 + i, b0 + j, b0 + j + 1, false})
			j++
		}
	}
}

// cut aligns the elements that occur exactly once on each side, and then the blocks between them.
func (w *worker[T]) cut(a0, a1, b0, b1, depth int) {
	anchors := increasing(w.unique(a0, a1, b0, b1))
	if len(anchors) == 0 {
		w.emit(Span{a0, a1, b0, b1, false})
		return
	}
	for _, p := range anchors {
		w.block(a0, p[0], b0, p[1], depth+1)
		w.emit(Span{p[0], p[0] + 1, p[1], p[1] + 1, true})
		a0, b0 = p[0]+1, p[1]+1
	}
	w.block(a0, a1, b0, b1, depth+1)
}

// unique pairs the places of elements that occur once in each block, in the order of a.
func (w *worker[T]) unique(a0, a1, b0, b1 int) [][2]int {
	type seen struct{ inA, inB, at int }
	count := make(map[T]*seen, a1-a0)
	for _, e := range w.a[a0:a1] {
		if s := count[e]; s != nil {
			s.inA++
		} else {
			count[e] = &seen{inA: 1}
		}
	}
	for j := b0; j < b1; j++ {
		if s := count[w.b[j]]; s != nil {
			s.inB, s.at = s.inB+1, j
		}
	}
	var pairs [][2]int
	for i := a0; i < a1; i++ {
		if s := count[w.a[i]]; s.inA == 1 && s.inB == 1 {
			pairs = append(pairs, [2]int{i, s.at})
		}
	}
	return pairs
}

// increasing is a longest run of pairs whose second places increase, too.
func increasing(pairs [][2]int) [][2]int {
	var tails []int // tails[k] is the pair that ends the best run of length k+1
	previous := make([]int, len(pairs))
	for i, p := range pairs {
		k := sort.Search(len(tails), func(k int) bool { return pairs[tails[k]][1] >= p[1] })
		previous[i] = -1
		if k > 0 {
			previous[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	out := make([][2]int, len(tails))
	if len(tails) == 0 {
		return out
	}
	for k, i := len(tails)-1, tails[len(tails)-1]; k >= 0; k, i = k-1, previous[i] {
		out[k] = pairs[i]
	}
	return out
}
