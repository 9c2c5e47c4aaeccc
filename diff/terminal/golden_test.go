package terminal_test

import (
	"path/filepath"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

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
			golden.Check(t, file, got)
		})
	}
}
