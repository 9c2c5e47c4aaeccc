package tfstate

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The statuses in Go are those of the column's constraint.
func TestStateStatusesAreThoseOfTheSchema(t *testing.T) {
	schema, err := os.ReadFile("../store/migrations/001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	column := regexp.MustCompile(`(?s)create table states \(.*?status +text not null (?:default '[a-z]+' )?` +
		`check \(status in \((.*?)\)\)`).FindSubmatch(schema)
	if column == nil {
		t.Fatal("the schema has no statuses of states")
	}
	words := strings.Split(strings.ReplaceAll(string(column[1]), "'", ""), ", ")
	slices.Sort(words)
	states := []string{string(StatusContested), string(StatusDismissed), string(StatusKept), string(StatusWithheld)}
	if diff := cmp.Diff(words, states); diff != "" {
		t.Errorf("states (-schema +Go):\n%s", diff)
	}
}
