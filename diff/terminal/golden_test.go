package terminal_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden renders the same release at the widths that change its layout.
func TestGolden(t *testing.T) {
	const hint = "--show-all lists them"
	for name, o := range map[string]terminal.Options{
		"release.80.txt":       {Width: 80, Hint: hint},
		"release.140.txt":      {Width: 140, Hint: hint},
		"release.all.txt":      {Width: 100, All: true},
		"release.side.100.txt": {Width: 100, Side: true, Hint: hint},
		"release.side.140.txt": {Width: 140, Side: true, Hint: hint},
		"release.ansi":         {Width: 100, Color: true, Hint: hint},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample.Release()
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			got, file := render(t, r, o), filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("%s is different (-golden +now):\n%s", file, d)
			}
		})
	}
}
