package review

import (
	"os"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestKeysAreDescribed compares the table in docs/review.md with the key map; -update rewrites it.
func TestKeysAreDescribed(t *testing.T) {
	const file, begin, end = "../../docs/review.md", "<!-- keys -->\n", "<!-- /keys -->"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(raw), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the keys", file)
	}
	var table strings.Builder
	for _, g := range newKeys().groups() {
		table.WriteString("| " + g.Title + " | |\n|---|---|\n")
		for _, k := range g.Keys {
			keys := "`" + strings.Join(strings.Fields(k.Help().Key), "` `") + "`"
			table.WriteString("| " + keys + " | " + k.Help().Desc + " |\n")
		}
		table.WriteString("\n")
	}
	want := before + begin + "\n" + table.String() + end + after
	golden.Check(t, file, want)
}
