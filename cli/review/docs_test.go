package review

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, string(raw)); d != "" {
		t.Errorf("%s is not up to date (-want +got):\n%s", file, d)
	}
}
