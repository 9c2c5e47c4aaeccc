package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
)

// TestCutLinesShowWhatDiffers checks that a change at the end of a long script line
// is shown wherever the line is cut, and that the whole line is shown if it fits.
func TestCutLinesShowWhatDiffers(t *testing.T) {
	for _, n := range []int{300, 511, 512, 600, 5000} {
		for _, tail := range []int{0, 10, 1000} {
			pad, end := strings.Repeat("é", n/2), strings.Repeat("z", tail)
			was, is := "#!/bin/sh\n"+pad+" safe"+end+"\nexit\n", "#!/bin/sh\n"+pad+" evil"+end+"\nexit\n"
			f := diff.NewMasker(diff.MaskOptions{Limit: 8 << 10}).Field(nil, side(t, was), side(t, is))
			if shown := fmt.Sprint(f.Lines); !strings.Contains(shown, "safe") || !strings.Contains(shown, "evil") ||
				strings.Contains(shown, "\uFFFD") {
				t.Errorf("%d bytes before and %d behind: %s", n, tail, shown)
			}
			whole := diff.NewMasker(diff.MaskOptions{Limit: 1 << 20}).Field(nil, side(t, was), side(t, is))
			if len(whole.Lines) != 4 || whole.Lines[2].Text != pad+" evil"+end {
				t.Errorf("%d bytes before and %d behind, with room for all: %v", n, tail, whole.Lines)
			}
		}
	}
}

// TestCutLinesThatStandAlone checks that a line without a counterpart is cut
// after its start and shows its length.
func TestCutLinesThatStandAlone(t *testing.T) {
	line := "begin" + strings.Repeat("x", 2000)
	f := diff.NewMasker(diff.MaskOptions{Limit: 8 << 10}).Field(nil, side(t, "a\n"), side(t, "a\n"+line+"\n"))
	if got := f.Lines[1].Text; !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "… (2005 bytes in all)") {
		t.Errorf("%q", got)
	}
}

// TestWhatComesIsSeen checks that added lines have space, however many lines are removed.
func TestWhatComesIsSeen(t *testing.T) {
	bounds := diff.MaskOptions{Limit: 8 << 10, Lines: 200}
	for _, line := range []string{"old", strings.Repeat("long ", 200)} {
		f := diff.NewMasker(bounds).Field(nil, side(t, "#!/bin/sh\n"+strings.Repeat(line+"\n", 1000)),
			side(t, "#!/bin/sh\nevil one\nevil two\n"))
		count := map[diff.LineOp]int{}
		for i := range f.Lines {
			l := &f.Lines[i]
			count[l.Op] += max(l.Count, 1)
		}
		if count[diff.LineAdded] != 2 || count[diff.LineRemoved]+count[diff.LineMore] != 1000 ||
			count[diff.LineRemoved] < 10 {
			t.Errorf("%v", count)
		}
		if len(f.Lines) > bounds.Lines+2 {
			t.Errorf("%d lines", len(f.Lines))
		}
	}
	both := diff.NewMasker(bounds).Field(nil, side(t, strings.Repeat("old\n", 1000)),
		side(t, strings.Repeat("new\n", 1000)))
	count := map[diff.LineOp]int{}
	for i := range both.Lines {
		count[both.Lines[i].Op] += max(both.Lines[i].Count, 1)
	}
	if count[diff.LineRemoved] != 100 || count[diff.LineAdded] < 98 || count[diff.LineRemoved]+count[diff.LineAdded]+
		count[diff.LineMore] != 2000 {
		t.Errorf("as much goes as comes: %v", count)
	}
}
