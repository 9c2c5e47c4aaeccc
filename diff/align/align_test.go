package align_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

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
		{"", "", nil}, // again, with memory that the others have used
	} {
		got := align.Sequences([]rune(c.a), []rune(c.b))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q and %q (-want +got):\n%s", c.a, c.b, d)
		}
	}
}

// TestInvariants checks that the spans cover both sides in order, alternate,
// and are Same only for equal elements.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.IntRange(1, 400).Draw(t, "letters")
		side := rapid.SliceOfN(rapid.IntRange(0, letters), 0, 1200)
		check(t, side.Draw(t, "a"), side.Draw(t, "b"))
	})
}

// TestEdited checks that edits in a repetitive text are found, and that
// little else is reported as changed.
func TestEdited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]int{2, 5, 50, 5000}).Draw(t, "letters")
		seed := rapid.IntRange(1, 1000).Draw(t, "seed")
		a := make([]int, 4000)
		for i := range a {
			a[i] = i * i * seed / 7 % letters
		}
		b := slices.Clone(a)
		edits := rapid.IntRange(0, 20).Draw(t, "edits")
		for range edits {
			at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				b[at] = -1
			case 1:
				b = slices.Insert(b, at, letters/2)
			default:
				b = slices.Delete(b, at, at+1)
			}
		}
		if same := common(t, a, b); same < len(a)-edits {
			t.Fatalf("%d of %d are called the same after %d edits", same, len(a), edits)
		}
	})
}

// TestLongInsertIsFound checks that an inserted block longer than a window is
// found as one, though no line is unique.
func TestLongInsertIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = random.IntN(20)
		}
		return out
	}
	a := letters(20_000)
	b := slices.Concat(a[:9000], letters(2000), a[9000:12_000], letters(3000), a[15_000:])
	if same := common(t, a, b); same < 17_000 || same > 18_000 {
		t.Errorf("%d of 17,000 are called the same, and by chance some more", same)
	}
}

func common(t interface{ Fatalf(string, ...any) }, a, b []int) int {
	check(t, a, b)
	same := 0
	for _, s := range align.Sequences(a, b) {
		if s.Same {
			same += s.AEnd - s.A
		}
	}
	return same
}

// TestExact checks that the common part of small inputs is as long as possible.
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

// BenchmarkRepeats aligns lines of which none is unique.
func BenchmarkRepeats(b *testing.B) {
	x, y := make([]string, 16_000), make([]string, 16_000)
	for i := range x {
		x[i] = fmt.Sprintf("line %d", i*i%97)
		y[i] = x[i]
		if i%5 == 0 {
			y[i] = fmt.Sprintf("line %d", i*i%89)
		}
	}
	for b.Loop() {
		align.Sequences(x, y)
	}
}
