package align

import (
	"math/rand/v2"
	"testing"
)

// TestNeverQuadratic counts steps for inputs on which a quadratic algorithm takes minutes.
func TestNeverQuadratic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func(i, n int) (a, b int){
		"equal":               func(i, _ int) (int, int) { return i % 7, i % 7 },
		"all changed":         func(i, _ int) (int, int) { return i, -i - 1 },
		"all alike":           func(i, _ int) (int, int) { return i % 2, i % 3 },
		"one letter":          func(i, _ int) (int, int) { return 0, i % 2 },
		"two letters":         func(int, int) (int, int) { return random.IntN(2), random.IntN(2) },
		"many letters":        func(int, int) (int, int) { return random.IntN(100), random.IntN(100) },
		"reversed":            func(i, n int) (int, int) { return i, n - i },
		"mixed":               func(_, n int) (int, int) { return random.IntN(n), random.IntN(n) },
		"every fifth changed": func(i, n int) (int, int) { return i, i + (i%5/4)*n },
		"shifted":             func(i, _ int) (int, int) { return i % 1000, (i + 500) % 1000 },
		"halves":              func(i, n int) (int, int) { return i * 2 / n, i * 3 / n },
		"pairs":               func(i, n int) (int, int) { return i / 2, (n - i) / 2 },
	}
	// Two sides, and the bound of the algorithm: windows of maxEdits, which
	// process each element at most twice.
	const bound = 2 * 2 * 2 * maxEdits
	for name, shape := range shapes {
		for _, n := range []int{5_000, 40_000} {
			a, b := make([]int, n), make([]int, n)
			for i := range n {
				a[i], b[i] = shape(i, n)
			}
			w := newWorker(a, b)
			w.block(0, n, 0, n, 0)
			t.Logf("%s, %d: %d steps for each element", name, n, w.steps/n)
			if w.steps > bound*n {
				t.Errorf("%s, %d: %d steps for each element, at most %d allowed", name, n, w.steps/n, bound)
			}
			if name == "all changed" && w.steps > 10*n {
				t.Errorf("%d: %d steps for each element, though none is on both sides", n, w.steps/n)
			}
			if cap(w.trace) > 4*maxExact*maxExact {
				t.Errorf("%s, %d: the trace has %d numbers", name, n, cap(w.trace))
			}
		}
	}
}
