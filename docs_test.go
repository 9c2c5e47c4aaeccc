package nuon_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameTestsThatExist: a sentence of the docs that names a test must name one that exists.
func TestDocsNameTestsThatExist(t *testing.T) {
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	walk(t, "_test.go", func(_, text string) {
		for _, found := range function.FindAllStringSubmatch(text, -1) {
			declared[found[1]] = true
		}
	})
	named, count := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)(?:/[^`]*)?`"), 0
	walk(t, ".md", func(path, text string) {
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			if count++; !declared[found[1]] {
				t.Errorf("%s names %s, and there is no such test", path, found[1])
			}
		}
	})
	if count == 0 {
		t.Error("the docs name no test at all; this test looks for them in the wrong way")
	}
}

// TestDocsNameFilesThatExist checks that every Go file that a page names as `folder/file.go` is in the repository.
func TestDocsNameFilesThatExist(t *testing.T) {
	named, count := regexp.MustCompile("`([a-z][a-z0-9_]*(?:/[a-z0-9_]+)+\\.go)`"), 0
	walk(t, ".md", func(page, text string) {
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			count++
			if _, err := os.Stat(filepath.FromSlash(found[1])); err != nil {
				t.Errorf("%s names %s, and there is no such file", page, found[1])
			}
		}
	})
	if count == 0 {
		t.Error("the docs name no file at all; this test looks for them in the wrong way")
	}
}

// walk calls each for every file of the repository whose name ends so, with its text.
func walk(t *testing.T, suffix string, each func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		each(path, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
