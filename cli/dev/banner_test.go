package dev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBannerSaysWhatWorksHere checks that the banner suggests only commands whose files exist.
func TestBannerSaysWhatWorksHere(t *testing.T) {
	for name, c := range map[string]struct{ file, want, not string }{
		"an empty directory":  {"", "nuon init", "examples/hello"},
		"an app of one's own": {"metadata.toml", "nuon apps create NAME --repo file://$PWD", "examples/hello"},
		"a clone of nuon":     {"examples/hello/metadata.toml", "nuon sync examples/hello", "nuon init"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				file := filepath.Join(dir, c.file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var got strings.Builder
			if err := writeBanner(&got, Ready{}, Saved{Current: true}, "", time.Second, dir); err != nil {
				t.Fatal(err)
			}
			if text := got.String(); !strings.Contains(text, c.want) || strings.Contains(text, c.not) {
				t.Errorf("want %q and no %q in:\n%s", c.want, c.not, text)
			}
		})
	}
}
