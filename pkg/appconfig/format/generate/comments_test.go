package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDescriptionsAreUpToDate: the file that package format is built with says what its comments say.
func TestDescriptionsAreUpToDate(t *testing.T) {
	want, err := Comments("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../descriptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("descriptions.txt is out of date (run `make generate`; -want +got):\n%s", d)
	}
}

// TestComments: those of types and fields that are keys, in one line each, by name; nothing of tests.
func TestComments(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.go": "package p\n\n// B is one of\n// many.\ntype B struct {\n\t// Its\n\t// size.\n\tSize int " +
			"`toml:\"size\"`\n\tNone int `toml:\"none\"`\n\t// No key.\n\tOther int\n\tGone struct{} `toml:\"gone\"`\n}\n",
		"a.go": "package p\n\n// A is a.toml: all.\ntype A map[string]B\n\n// C says so.\ntype C struct{ B }\n\n// D " +
			"is nothing here.\ntype D string\n\ntype e struct {\n\t// Not seen.\n\tX int `toml:\"x\"`\n}\n",
		"a_test.go": "package p\n\n// T is a test.\ntype T struct{}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Comments(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("A\tAll.\nB\tOne of many.\nB.Size\tIts size.\nC\tC says so.\n", string(got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.go"), []byte("package p\ntype"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Comments(dir); err == nil {
		t.Errorf("read broken code as %q", got)
	}
}
