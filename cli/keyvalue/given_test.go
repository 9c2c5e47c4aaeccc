package keyvalue

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// TestPairs checks that the first = separates name and value, and that a pair without
// one is a usage error.
func TestPairs(t *testing.T) {
	got, err := Pairs("--input", []string{"a=1", "b=", "c=x=y", "a=2", "d e=\x1b"})
	if d := cmp.Diff(map[string]string{"a": "2", "b": "", "c": "x=y", "d e": "\x1b"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, bad := range []string{"a", "", "=1"} {
		if _, err := Pairs("--input", []string{bad}); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), "--input") {
			t.Errorf("%q ended with %v", bad, err)
		}
	}
}

// TestFiles checks that a value is the content of its file without the final line
// break, and that a missing or too large file is a usage error.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got, err := Files("--input-file",
		[]string{"a=@" + file("a", "{\n}\n\n"), "b=" + file("b", "x\r\n"), "c=@" + file("c", "")})
	if d := cmp.Diff(map[string]string{"a": "{\n}\n", "b": "x", "c": ""}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	large := file("large", string(bytes.Repeat([]byte("x"), limit+1)))
	for _, bad := range []string{"a", "a=@" + dir + "/none", "a=@" + dir, "a=@" + large} {
		if _, err := Files("--input-file", []string{bad}); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("%.80q ended with %v", bad, err)
		}
	}
}
