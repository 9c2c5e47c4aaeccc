package jobs

import (
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
