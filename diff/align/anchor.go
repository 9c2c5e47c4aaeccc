package align

import "sort"

// anchor is a run of length elements that is equal on both sides and occurs once on each.
type anchor struct{ a, b, length int }

// runs are the lengths of the runs at which a block is split. Longer ones are
// for repetitive sequences, in which no single element is unique.
var runs = [...]int{1, 3, 9}

// cut aligns what is unique on each side, and then the blocks between. It
// returns false, and changes nothing, if there is nothing to split at.
func (w *worker) cut(a0, a1, b0, b1, depth int) bool {
	for _, length := range runs {
		var found []anchor
		if length == 1 {
			found = w.unique(a0, a1, b0, b1)
		} else {
			found = w.uniqueRuns(a0, a1, b0, b1, length)
		}
		found = increasing(found)
		if len(found) == 0 {
			continue
		}
		for _, p := range found {
			if p.a < a0 || p.b < b0 {
				continue // it overlaps the previous one
			}
			w.block(a0, p.a, b0, p.b, depth+1)
			w.emit(Span{p.a, p.a + p.length, p.b, p.b + p.length, true})
			a0, b0 = p.a+p.length, p.b+p.length
		}
		w.block(a0, a1, b0, b1, depth+1)
		return true
	}
	return false
}

// seen counts an element in both blocks and holds its last position in b.
type seen struct{ inA, inB, at int32 }

// unique pairs the positions of elements that occur once in each block, in the order of a.
func (w *worker) unique(a0, a1, b0, b1 int) []anchor {
	w.steps += 2 * (a1 - a0 + b1 - b0)
	for _, e := range w.a[a0:a1] {
		w.count[e].inA++
	}
	for j := b0; j < b1; j++ {
		s := &w.count[w.b[j]]
		s.inB, s.at = s.inB+1, int32(j)
	}
	var pairs []anchor
	for i := a0; i < a1; i++ {
		if s := w.count[w.a[i]]; s.inA == 1 && s.inB == 1 {
			pairs = append(pairs, anchor{i, int(s.at), 1})
		}
	}
	for _, e := range w.a[a0:a1] {
		w.count[e] = seen{}
	}
	for _, e := range w.b[b0:b1] {
		w.count[e] = seen{}
	}
	return pairs
}

// uniqueRuns is like unique for runs of elements. It compares two runs with
// the same hash before it pairs them.
func (w *worker) uniqueRuns(a0, a1, b0, b1, length int) []anchor {
	if a1-a0 < length || b1-b0 < length {
		return nil
	}
	w.steps += 2 * (a1 - a0 + b1 - b0)
	count := make(map[uint64]seen, a1-a0)
	inA, inB := hashes(w.a[a0:a1], length), hashes(w.b[b0:b1], length)
	for _, h := range inA {
		s := count[h]
		s.inA++
		count[h] = s
	}
	for j, h := range inB {
		if s, ok := count[h]; ok {
			s.inB, s.at = s.inB+1, int32(b0+j)
			count[h] = s
		}
	}
	var pairs []anchor
	for i, h := range inA {
		if s := count[h]; s.inA == 1 && s.inB == 1 && w.equal(a0+i, int(s.at), length) {
			pairs = append(pairs, anchor{a0 + i, int(s.at), length})
		}
	}
	return pairs
}

func (w *worker) equal(i, j, length int) bool {
	for k := range length {
		if w.a[i+k] != w.b[j+k] {
			return false
		}
	}
	return true
}

// hashes returns the hashes of all runs of a length. They need not be strong:
// a collision only hides a run.
func hashes(list []int32, length int) []uint64 {
	const base = 0x9E3779B97F4A7C15
	out := make([]uint64, len(list)-length+1)
	var h, first uint64 = 0, 1
	for range length {
		first *= base
	}
	for i, e := range list {
		h = h*base + uint64(e) + 1
		if i >= length {
			h -= first * (uint64(list[i-length]) + 1)
		}
		if i >= length-1 {
			out[i-length+1] = h
		}
	}
	return out
}

// increasing returns a longest series of anchors whose positions in b also increase.
func increasing(pairs []anchor) []anchor {
	if len(pairs) == 0 {
		return nil
	}
	var tails []int // tails[k] is the anchor that ends the best series of length k+1
	if sort.SliceIsSorted(pairs, func(i, j int) bool { return pairs[i].b < pairs[j].b }) {
		return pairs
	}
	previous := make([]int, len(pairs))
	for i, p := range pairs {
		k := sort.Search(len(tails), func(k int) bool { return pairs[tails[k]].b >= p.b })
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
	out := make([]anchor, len(tails))
	for k, i := len(tails)-1, tails[len(tails)-1]; k >= 0; k, i = k-1, previous[i] {
		out[k] = pairs[i]
	}
	return out
}
