// Package sourcetest tests the checks of policies with texts and their expected diagnostics. Only
// tests import it.
package sourcetest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

var update = flag.Bool("update", false, "write what is said into the golden files")

// Check is the check function of a policy language.
type Check func(name, text string) []diagnostic.Diagnostic

// Golden runs check on each text of an archive whose name does not end in .want, and compares the
// diagnostics with the file of the same name plus .want. If that file is missing or empty, no
// diagnostics are expected.
func Golden(t *testing.T, file string, check Check) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	var texts []txtar.File
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".want"); ok {
			want[name] = string(f.Data)
		} else {
			texts = append(texts, f)
		}
	}
	archive.Files = nil
	for _, f := range texts {
		var got string
		t.Run(f.Name, func(t *testing.T) {
			found := check(f.Name, string(f.Data))
			CheckUsable(t, string(f.Data), found)
			got = Format(found)
			if diff := cmp.Diff(want[f.Name], got); diff != "" && !*update {
				t.Errorf("what is said is not what is wanted (-want +said), -update accepts it:\n%s", diff)
			}
		})
		archive.Files = append(archive.Files, f)
		if got != "" {
			archive.Files = append(archive.Files, txtar.File{Name: f.Name + ".want", Data: []byte(got)})
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Format formats diagnostics, one per line, with their width and rule.
func Format(found []diagnostic.Diagnostic) string {
	var b strings.Builder
	for _, d := range found {
		fmt.Fprintf(&b, "%d:%d+%d %s %s: %s\n", d.Line, d.Column, d.Width, d.Severity, d.Rule, d.Message)
		if d.Hint != "" {
			fmt.Fprintf(&b, "\t%s\n", d.Hint)
		}
	}
	return b.String()
}

// CheckUsable reports diagnostics that are useless to a person: outside of the text, without a rule or
// message, with control sequences, or not sorted.
func CheckUsable(t testing.TB, text string, found []diagnostic.Diagnostic) {
	t.Helper()
	if len(text) > source.MaxBytes {
		text = ""
	}
	lines := strings.Split(text, "\n")
	for i, d := range found {
		if d.Line < 1 || d.Line > len(lines) || d.Column < 1 || d.Column > len(lines[d.Line-1])+1 {
			t.Errorf("%s: outside the text of %d lines", d, len(lines))
		}
		if d.Rule == "" || d.Message == "" || d.Hint == "" ||
			d.Severity != diagnostic.Error && d.Severity != diagnostic.Warning {
			t.Errorf("%s: not complete", d)
		}
		if shown := d.Message + d.Hint; !utf8.ValidString(shown) ||
			strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(shown) > 2000 {
			t.Errorf("%q: not fit to be shown", shown)
		}
		if i > 0 && (found[i-1].Line > d.Line || found[i-1].Line == d.Line && found[i-1].Column > d.Column) {
			t.Errorf("%s: not sorted", d)
		}
	}
}
