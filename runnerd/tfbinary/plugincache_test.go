package tfbinary

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIsCacheTooLarge checks each bound of a provider cache.
func TestIsCacheTooLarge(t *testing.T) {
	deep := func(levels int) func(dir string) error {
		return func(dir string) error { return os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", levels)), 0o700) }
	}
	sized := func(bytes int64) func(dir string) error {
		return func(dir string) error {
			file := filepath.Join(dir, "provider")
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, bytes))
		}
	}
	for name, test := range map[string]struct {
		fill func(dir string) error
		want bool
	}{
		"a provider": {sized(1 << 30), false}, "much": {sized(maxCacheBytes + 1), true},
		"directories": {deep(maxCacheDepth), false}, "many below each other": {deep(maxCacheDepth + 1), true},
		"a link out": {func(dir string) error { return os.Symlink("/", filepath.Join(dir, "link")) }, false},
		"a name":     {func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)) }, true},
		"none":       {os.Remove, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.fill(dir); err != nil {
				t.Fatal(err)
			}
			if got := IsCacheTooLarge(dir); got != test.want {
				t.Errorf("too large: %v", got)
			}
		})
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&cacheSize{files: maxCacheFiles - 1}).add(root, 1); err != nil {
		t.Errorf("as many files as are allowed: %v", err)
	}
	if err := (&cacheSize{files: maxCacheFiles}).add(root, 1); err == nil {
		t.Error("one file more is not too large")
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
}
