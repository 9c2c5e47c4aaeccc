package align_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/align"
)

func TestSequences(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want []align.Span
	}{
		{"", "", nil},
		{"abc", "abc", []align.Span{{0, 3, 0, 3, true}}},
		{"", "ab", []align.Span{{0, 0, 0, 2, false}}},
		{"ab", "", []align.Span{{0, 2, 0, 0, false}}},
		{"abc", "axc", []align.Span{{0, 1, 0, 1, true}, {1, 2, 1, 2, false}, {2, 3, 2, 3, true}}},
		{"ab", "xab", []align.Span{{0, 0, 0, 1, false}, {0, 2, 1, 3, true}}},
		{"ab", "ba", []align.Span{{0, 1, 0, 0, false}, {1, 2, 0, 1, true}, {2, 2, 1, 2, false}}},
	} {
		got := align.Sequences([]rune(c.a), []rune(c.b))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q and %q (-want +got):\n%s", c.a, c.b, d)
		}
	}
}

// TestInvariants: the spans cover both sides in order, alternate, and say Same only of what is the same.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.IntRange(1, 400).Draw(t, "letters")
		side := rapid.SliceOfN(rapid.IntRange(0, letters), 0, 600)
		check(t, side.Draw(t, "a"), side.Draw(t, "b"))
	})
}

// TestExact: with small inputs the common part is as long as it can be.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 9)
		a, b := side.Draw(t, "a"), side.Draw(t, "b")
		same := 0
		for _, s := range align.Sequences(a, b) {
			if s.Same {
				same += s.AEnd - s.A
			}
		}
		if want := longest(a, b); same != want {
			t.Fatalf("%v and %v: %d in common, want %d", a, b, same, want)
		}
	})
}

func longest(a, b []int) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + longest(a[1:], b[1:])
	}
	return max(longest(a[1:], b), longest(a, b[1:]))
}

func check(t interface{ Fatalf(string, ...any) }, a, b []int) {
	atA, atB := 0, 0
	for i, s := range align.Sequences(a, b) {
		if s.A != atA || s.B != atB {
			t.Fatalf("span %d starts at %d,%d, want %d,%d", i, s.A, s.B, atA, atB)
		}
		if s.A == s.AEnd && s.B == s.BEnd {
			t.Fatalf("span %d is empty", i)
		}
		if s.Same {
			if d := cmp.Diff(a[s.A:s.AEnd], b[s.B:s.BEnd]); d != "" {
				t.Fatalf("span %d is not the same:\n%s", i, d)
			}
		}
		atA, atB = s.AEnd, s.BEnd
	}
	if atA != len(a) || atB != len(b) {
		t.Fatalf("spans end at %d,%d of %d,%d", atA, atB, len(a), len(b))
	}
}

// TestLargeInputsStayCheap: shapes that make a quadratic method take minutes.
func TestLargeInputsStayCheap(t *testing.T) {
	const n = 200_000
	shapes := map[string]func(i int) (a, b int){
		"all changed":         func(i int) (int, int) { return i, -i - 1 },
		"all alike":           func(i int) (int, int) { return i % 2, i % 3 },
		"reversed":            func(i int) (int, int) { return i, n - i },
		"every fifth changed": func(i int) (int, int) { return i, i + (i%5/4)*n },
		"shifted":             func(i int) (int, int) { return i % 1000, (i + 500) % 1000 },
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			a, b := make([]int, n), make([]int, n)
			for i := range n {
				a[i], b[i] = shape(i)
			}
			start := time.Now()
			check(t, a, b)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func BenchmarkEveryFifthLine(b *testing.B) {
	x, y := make([]string, 16_000), make([]string, 16_000)
	for i := range x {
		x[i] = fmt.Sprintf("line %d", i)
		y[i] = x[i]
		if i%5 == 0 {
			y[i] += " changed"
		}
	}
	for b.Loop() {
		align.Sequences(x, y)
	}
}
