package dispatch

import (
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The statuses in Go are those of the columns' constraints, and every one but the first is reached
// by a transition.
func TestStatusesAreThoseOfTheSchema(t *testing.T) {
	schema, err := os.ReadFile("../store/migrations/001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	check := func(table string) []string {
		column := regexp.MustCompile(`(?s)create table ` + table +
			` \(.*?status +text not null (?:default '[a-z]+' )?check \(status in \((.*?)\)\)`).FindSubmatch(schema)
		if column == nil {
			t.Fatalf("the schema has no statuses of %s", table)
		}
		words := strings.Split(strings.ReplaceAll(string(column[1]), "'", ""), ", ")
		sort.Strings(words)
		return words
	}
	if diff := cmp.Diff(check("jobs"), statusesIn(jobMoves)); diff != "" {
		t.Errorf("jobs (-schema +Go):\n%s", diff)
	}
	if diff := cmp.Diff(check("attempts"), statusesIn(attemptMoves)); diff != "" {
		t.Errorf("attempts (-schema +Go):\n%s", diff)
	}
	states := []string{string(StateContested), string(StateDismissed), string(StateKept), string(StateWithheld)}
	if diff := cmp.Diff(check("states"), states); diff != "" {
		t.Errorf("states (-schema +Go):\n%s", diff)
	}
}

func statusesIn[S ~string](moves map[S][]S) []string {
	var words []string
	for from, to := range moves {
		words = append(words, string(from))
		for _, s := range to {
			words = append(words, string(s))
		}
	}
	sort.Strings(words)
	return slices.Compact(words)
}

func TestPositionOf(t *testing.T) {
	for id, want := range map[string]position{
		"2/17": {2, 17}, " 2/17 ": {2, 17}, "": {}, "2": {}, "2/": {}, "/3": {}, "a/b": {},
		"99999999999/1": {}, "1/2/3": {},
	} {
		if got := positionOf(id); got != want {
			t.Errorf("positionOf(%q) = %v, want %v", id, got, want)
		}
	}
}

func TestAdmitNeverKeepsMoreThanALogMayHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.Int64Range(LargestLog-5000, LargestLog).Draw(t, "used")
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
			full := used >= LargestLog
			admitted, after := admit(rows, present, used)
			for i, row := range admitted {
				if kept[row.seq] {
					t.Fatalf("chunk %d was kept twice", row.seq)
				}
				kept[row.seq] = true
				if row.last != (after >= LargestLog && i == len(admitted)-1) {
					t.Fatalf("the word that the log is full is at %d of %d, with %d used", i, len(admitted), after)
				}
			}
			if full && len(admitted) > 0 || after > LargestLog || after < used {
				t.Fatalf("%d bytes became %d", used, after)
			}
			used = after
		}
	})
}
