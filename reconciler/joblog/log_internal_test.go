package joblog

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPositionOf(t *testing.T) {
	for id, want := range map[string]position{
		"2/17": {2, 17}, " 2/17 ": {2, 17}, "": {}, "2": {}, "2/": {}, "/3": {}, "a/b": {},
		"99999999999/1": {}, "1/2/3": {},
	} {
		if got := parsePosition(id); got != want {
			t.Errorf("positionOf(%q) = %v, want %v", id, got, want)
		}
	}
}

func TestAdmitNeverKeepsMoreThanALogMayHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.Int64Range(MaxLogBytes-5000, MaxLogBytes).Draw(t, "used")
		kept := map[int64]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var rows []logRow
			for range rapid.IntRange(0, 6).Draw(t, "rows") {
				rows = append(rows, logRow{
					seq: rapid.Int64Range(0, 9).Draw(t, "seq"), size: rapid.Int64Range(2, 3000).Draw(t, "size"),
				})
			}
			var present []int64
			for seq := range kept {
				present = append(present, seq)
			}
			full := used >= MaxLogBytes
			admitted, after := selectNewChunks(rows, present, used)
			for i, row := range admitted {
				if kept[row.seq] {
					t.Fatalf("chunk %d was kept twice", row.seq)
				}
				kept[row.seq] = true
				if row.last != (after >= MaxLogBytes && i == len(admitted)-1) {
					t.Fatalf("the word that the log is full is at %d of %d, with %d used", i, len(admitted), after)
				}
			}
			if full && len(admitted) > 0 || after > MaxLogBytes || after < used {
				t.Fatalf("%d bytes became %d", used, after)
			}
			used = after
		}
	})
}
