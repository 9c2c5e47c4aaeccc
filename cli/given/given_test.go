package given

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// TestPairs: the first = divides, and what divides nothing is wrong use.
func TestPairs(t *testing.T) {
	got, err := Pairs("--input", []string{"a=1", "b=", "c=x=y", "a=2", "d e=\x1b"})
	if d := cmp.Diff(map[string]string{"a": "2", "b": "", "c": "x=y", "d e": "\x1b"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, bad := range []string{"a", "", "=1"} {
		if _, err := Pairs("--input", []string{bad}); exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), "--input") {
			t.Errorf("%q ended with %v", bad, err)
		}
	}
}

// TestFiles: a file is the value, without its last line end; one that is not there, or too large, is wrong use.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got, err := Files("--input-file", []string{"a=@" + file("a", "{\n}\n\n"), "b=" + file("b", "x\r\n"), "c=@" + file("c", "")})
	if d := cmp.Diff(map[string]string{"a": "{\n}\n", "b": "x", "c": ""}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	large := file("large", string(bytes.Repeat([]byte("x"), limit+1)))
	for _, bad := range []string{"a", "a=@" + dir + "/none", "a=@" + dir, "a=@" + large} {
		if _, err := Files("--input-file", []string{bad}); exit.CodeOf(err) != exit.Usage {
			t.Errorf("%.80q ended with %v", bad, err)
		}
	}
}
