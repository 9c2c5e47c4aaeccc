package manifest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestWhatIsLeftOut checks what Pair leaves of each archive's "before" and
// "after", with the marks numbered in order.
func TestWhatIsLeftOut(t *testing.T) {
	files, err := filepath.Glob("testdata/pair/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data: ", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pair, ok := leaveOut(object(archive.Files[0].Data), object(archive.Files[1].Data), 0, 0)
			got := "whole\n"
			if ok {
				got = numbered(string(pair.sides[0].restText()) + "===\n" + string(pair.sides[1].restText()))
			}
			if golden.Updating() {
				archive.Files = append(archive.Files[:2:2], txtar.File{Name: "left", Data: []byte(got)})
				golden.Write(t, name, txtar.Format(archive))
				return
			}
			if d := cmp.Diff(string(archive.Files[2].Data), got); d != "" {
				t.Error(d)
			}
		})
	}
}

var markPattern = regexp.MustCompile(leftOutTag + ` x[0-9a-z]+`)

func numbered(text string) string {
	seen := map[string]int{}
	return markPattern.ReplaceAllStringFunc(text, func(mark string) string {
		if seen[mark] == 0 {
			seen[mark] = len(seen) + 1
		}
		return fmt.Sprintf("<%d>", seen[mark])
	})
}
