package attacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/markdown"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

// TestAttacks compares each input and checks that a reviewer sees what the attempt tries to hide.
func TestAttacks(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no attacks: %v", err)
	}
	for _, name := range files {
		short := strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(short, func(t *testing.T) {
			t.Parallel()
			attempt(t, name, false)
		})
		t.Run(short+" in a plan", func(t *testing.T) {
			t.Parallel()
			attempt(t, name, true)
		})
	}
}

// attempt checks one file. With inPlan, the objects exist as they were applied last, and the server
// stores the new ones as they are written.
func attempt(t *testing.T, name string, inPlan bool) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	if _, ok := files["plan.json"]; ok && inPlan {
		return
	}
	report := compare(t, files, inPlan)
	if err := report.Validate(); err != nil {
		t.Errorf("the report is not valid: %v", err)
	}
	seen := render(t, report)
	checked := 0
	for line := range strings.Lines(string(files["expect"])) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		checked++
		if err := seen.check(line); err != nil && !(inPlan && leftOut(line, report)) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if checked == 0 || len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Error("the file has no expectations, or no comment that says what the attempt is")
	}
	if t.Failed() {
		t.Logf("%s", seen.formats["text"])
	}
}

// leftOut reports whether a plan leaves out the field that an expectation has folded: one that the
// server owns or defaults.
func leftOut(line string, r *diff.Report) bool {
	return (strings.HasPrefix(line, "folded server-owned ") || strings.HasPrefix(line, "folded default ")) &&
		len(r.Changes) == 0
}

// compare builds the report for the input of an attempt.
func compare(t *testing.T, files map[string][]byte, inPlan bool) *diff.Report {
	t.Helper()
	if plan, ok := files["plan.json"]; ok {
		report, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	source := func(name string) []manifest.Source {
		data, ok := files[name]
		if !ok {
			return nil
		}
		return []manifest.Source{{Name: name, Data: data}}
	}
	_, live := files["live.yaml"]
	o := kubernetes.Options{
		Live: source("live.yaml"), ThreeWay: live, Again: source("again.yaml"), BeforeAgain: source("before-again.yaml"),
	}
	if inPlan {
		o.ThreeWay, o.Answers = true, []manifest.Source{{Name: "answers", Data: withoutHooks(files["after.yaml"])}}
		o.AnswersAgain = o.Answers
		if !live {
			o.Live = source("before.yaml")
		}
	}
	report, err := kubernetes.Report(source("before.yaml"), source("after.yaml"), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// withoutHooks returns the documents for which a plan of a chart has answers.
func withoutHooks(text []byte) []byte {
	var kept []string
	for document := range strings.SplitSeq(string(text), "---\n") {
		if !strings.Contains(document, "helm.sh/hook:") {
			kept = append(kept, document)
		}
	}
	return []byte(strings.Join(kept, "---\n"))
}

// rendered is a report with its formats.
type rendered struct {
	report *diff.Report
	// formats holds the output for people; whole holds the same with everything unfolded, and the
	// output for programs.
	formats, whole map[string]string
}

func render(t *testing.T, r *diff.Report) rendered {
	t.Helper()
	out := rendered{report: r, formats: map[string]string{}, whole: map[string]string{}}
	for name, o := range map[string]terminal.Options{"text": {}, "side": {Side: true, Width: 400}} {
		var b bytes.Buffer
		if err := terminal.Render(&b, r, o); err != nil {
			t.Fatal(err)
		}
		out.formats[name] = b.String()
		b.Reset()
		o.All = true
		if err := terminal.Render(&b, r, o); err != nil {
			t.Fatal(err)
		}
		out.whole[name] = b.String()
	}
	var b bytes.Buffer
	if err := markdown.Render(&b, r, markdown.Options{}); err != nil {
		t.Fatal(err)
	}
	out.formats["markdown"], out.whole["markdown"] = b.String(), b.String()
	b.Reset()
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		t.Fatal(err)
	}
	out.whole["json"] = b.String()
	return out
}

// check verifies one expectation. The error describes the actual report.
func (r *rendered) check(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "security":
		if r.report.Totals.Security == 0 {
			return fmt.Errorf("no finding is about security: %v", r.findings())
		}
	case line == "destructive":
		if !r.report.Destructive() {
			return fmt.Errorf("nothing is destroyed or replaced")
		}
	case line == "individual":
		if !r.report.NeedsIndividualApproval() {
			return fmt.Errorf("a group or a rule may approve it: %v", r.findings())
		}
	case line == "no changes":
		if n := len(r.changes()); n > 0 {
			return fmt.Errorf("%d changes", n)
		}
	case verb == "no":
		rule := strings.TrimPrefix(rest, "finding ")
		if slices.ContainsFunc(r.findings(), func(f diff.Finding) bool { return f.Rule == rule }) {
			return fmt.Errorf("the finding is there")
		}
	case verb == "shown":
		return r.field(func(f diff.FieldChange) bool { return f.Fold == "" && f.Path == rest })
	case verb == "folded":
		return r.field(func(f diff.FieldChange) bool { return f.Fold != "" && f.Fold+" "+f.Path == rest })
	case verb == "change":
		if !slices.ContainsFunc(r.changes(), func(c diff.Change) bool { return c.Address == rest && !c.IsNoise() }) {
			return fmt.Errorf("it is not listed")
		}
	case verb == "finding":
		rule, path, _ := strings.Cut(rest, " ")
		if !slices.ContainsFunc(r.findings(), func(f diff.Finding) bool {
			return f.Rule == rule &&
				(path == "" || f.Path == path)
		}) {
			return fmt.Errorf("no such finding: %v", r.findings())
		}
	case verb == "says":
		return contains(r.formats, rest, true)
	case verb == "hides":
		return contains(r.whole, rest, false)
	default:
		return fmt.Errorf("not an expectation; see doc.go")
	}
	return nil
}

// contains checks that each format contains a text or, without want, that none does.
func contains(formats map[string]string, text string, want bool) error {
	for name, got := range formats {
		if strings.Contains(got, text) != want {
			return fmt.Errorf("%s: contains it: %t, want %t", name, !want, want)
		}
	}
	return nil
}

func (r *rendered) changes() []diff.Change {
	return slices.Concat(r.report.Changes, r.report.Outputs, r.report.Hooks, r.report.Tests, r.report.Kept,
		r.report.Drift, r.report.Deferred)
}

func (r *rendered) findings() []diff.Finding {
	var out []diff.Finding
	for _, c := range r.changes() {
		out = append(out, c.Findings...)
	}
	return out
}

// field checks that at least one field satisfies a predicate.
func (r *rendered) field(is func(diff.FieldChange) bool) error {
	var paths []string
	for _, c := range r.changes() {
		if slices.ContainsFunc(c.Fields, is) {
			return nil
		}
		for _, f := range c.Fields {
			paths = append(paths, strings.TrimSpace(f.Fold+" "+f.Path))
		}
	}
	return fmt.Errorf("no such field among %q", paths)
}
