package terraform_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/diff/terraform"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// situations returns the plans of testdata/situations, each with a sentence about what users
// complain about.
func situations(t interface {
	Helper()
	Fatal(...any)
}) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("testdata/situations/*.txtar")
	if err != nil || len(files) < 14 {
		t.Fatal("there are too few situations: ", len(files), err)
	}
	out := map[string]*txtar.Archive{}
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil || len(a.Files) != 2 || a.Files[0].Name != "plan.json" || a.Files[1].Name != "want.txt" {
			t.Fatal(f, " is not plan.json and want.txt: ", err)
		}
		out[f] = a
	}
	return out
}

// TestSituations shows the reports of plans that other tools are criticized for.
func TestSituations(t *testing.T) {
	for file, a := range situations(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			r, err := terraform.Report(bytes.NewReader(a.Files[0].Data), terraform.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, r)
			checkNothingPlanted(t, r)
			var got bytes.Buffer
			if err := terminal.Render(&got, r, terminal.Options{Width: 100}); err != nil {
				t.Fatal(err)
			}
			if golden.Updating() {
				a.Files[1].Data = got.Bytes()
				golden.Write(t, file, txtar.Format(a))
				return
			}
			if d := cmp.Diff(string(a.Files[1].Data), got.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// checkNothingPlanted searches for the values that the plans mark as secret; all contain "planted".
func checkNothingPlanted(t *testing.T, r *diff.Report) {
	t.Helper()
	for ext, text := range renderings(t, r) {
		if strings.Contains(text, "planted") {
			t.Errorf("a planted secret is in the %s rendering:\n%s", ext, text)
		}
	}
}

// TestThePlanOfAnApplyIsTheSame checks that the same plan always yields the same digest, regardless
// of the order in which goroutines finish. The runner makes the report again before an apply and
// compares digests.
func TestThePlanOfAnApplyIsTheSame(t *testing.T) {
	plans := [][]byte{}
	for _, a := range situations(t) {
		plans = append(plans, a.Files[0].Data)
	}
	plans = append(plans, generated(t, 1500))
	for _, p := range plans {
		first := ""
		for range 3 {
			r, err := terraform.Report(bytes.NewReader(p), terraform.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = r.Digest()
			}
			if r.Digest() != first {
				t.Fatalf("%s, then %s for %.300s", first, r.Digest(), p)
			}
		}
	}
}
