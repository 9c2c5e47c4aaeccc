package manifest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestRead reads each archive's files, in which names in angle brackets
// replace invisible characters, and compares with its file "want".
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data: ", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var sources []Source
			want := ""
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				sources = append(sources, Source{Name: visible.Replace(f.Name), Data: []byte(visible.Replace(string(f.Data)))})
			}
			got := told(sources)
			if golden.Updating() {
				archive.Files = append(archive.Files[:len(sources):len(sources)], txtar.File{Name: "want", Data: []byte(got)})
				golden.Write(t, name, txtar.Format(archive))
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

var visible = strings.NewReplacer("<TAB>", "\t", "<CR>", "\r", "<NUL>", "\x00", "<FF>", "\xff", "<BOM>", "\ufeff",
	"<ESC>", "\x1b", "<LS>", "\u2028", "<NOEND>\n", "")

// told returns the whole result of Read as text.
func told(sources []Source) string {
	var b strings.Builder
	set, err := Read(sources, Options{})
	if err != nil {
		fmt.Fprintln(&b, err)
		return b.String()
	}
	for _, o := range set.Objects {
		generate := ""
		if o.GenerateName {
			generate = " (name made by the cluster)"
		}
		fmt.Fprintf(&b, "%s:%d %s %s%s\n", o.Source, o.Line, printable(o.ID.Address()), o.Version, generate)
		v, err := o.Value()
		if err != nil {
			fmt.Fprintf(&b, "  %v\n", err)
			continue
		}
		text, _ := raw.Text(v)
		fmt.Fprintf(&b, "  %s\n", text)
	}
	for _, n := range set.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}
