package diagnostic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	known := []string{"description", "display_name", "terraform_module", "helm_chart", "go", "nodejs",
		"vpc_id", "name", "names"}
	for mistaken, want := range map[string]string{
		"descripton": "description", "dispaly_name": "display_name", "displayname": "display_name",
		"nam": "name", "nmae": "name",
		"terraform": "terraform_module", "helm": "helm_chart", "golang": "go", "vpc": "vpc_id", "colour": "",
		"": "", "x": "", "d": "",
		strings.Repeat("name", 100): "",
	} {
		if got, ok := Nearest(mistaken, known); got != want || ok != (want != "") {
			t.Errorf("nearest to %q is %q, %v, want %q", mistaken, got, ok, want)
		}
	}
	if got, ok := Nearest("name_of_the_thing", []string{"name", "name_of"}); ok {
		t.Errorf("of two names that it begins with, %q is as good as the other", got)
	}
	if hint := DidYouMean("helm", known); hint != `did you mean "helm_chart"?` {
		t.Errorf("the hint is %q", hint)
	}
}

// TestDiagnostics checks that diagnostics are sorted by file and position, counted, and converted
// to errors.
func TestDiagnostics(t *testing.T) {
	all := Diagnostics{
		{File: "b.toml", Line: 1, Column: 1, Severity: Warning, Rule: "idle", Message: "m"},
		{File: "a.toml", Line: 10, Column: 2, Severity: Warning, Rule: "idle", Message: "m"},
		{File: "a.toml", Line: 9, Column: 3, Severity: Error, Rule: "cron",
			Message: "is not a schedule", Hint: "write one"},
		{File: "a.toml", Line: 9, Column: 1, Severity: Warning, Rule: "idle", Message: "m"},
	}
	all.Sort()
	want := "a.toml:9:1: warning: m\na.toml:9:3: error: is not a schedule (write one)\na.toml:10:2: warning: m\n" +
		"b.toml:1:1: warning: m"
	if diff := cmp.Diff(want, all.String()); diff != "" {
		t.Error(diff)
	}
	if wrong, warned := all.Count(); wrong != 1 || warned != 3 || !all.HasErrors() {
		t.Errorf("counted %d and %d", wrong, warned)
	}
	if err := all.Err(); err == nil || err.Error() != "a.toml:9:3: error: is not a schedule (write one)" {
		t.Errorf("the error is %v", err)
	}
	if strict := all.Strict(); strings.Contains(strict.String(), "warning:") ||
		!strings.Contains(all.String(), "warning:") {
		t.Errorf("strict:\n%v\nbefore:\n%v", strict, all)
	}
	if right := all[:1]; right.HasErrors() || right.Err() != nil {
		t.Errorf("a warning is an error: %v", right.Err())
	}
}
