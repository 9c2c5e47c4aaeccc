package markdown_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/markdown"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

func render(t interface{ Fatal(...any) }, r *diff.Report, o markdown.Options) string {
	var b strings.Builder
	if err := markdown.Render(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeString} }

// TestGolden renders a release with a change of every kind.
func TestGolden(t *testing.T) {
	const file = "testdata/release.md"
	got := render(t, sample.Release(), markdown.Options{})
	golden.Check(t, file, got)
}

// many returns a report of n changes that destroy and n that update, all different, with details.
func many(n int) *diff.Report {
	r := &diff.Report{Kind: "test", Applyable: true}
	for i := range n {
		r.Changes = append(r.Changes, diff.Change{
			Address: fmt.Sprintf("a.b[%05d]", i), Action: diff.Destroy, Risk: diff.RiskDestroy,
		}, diff.Change{
			Address: fmt.Sprintf("c.d[%05d]", i), Action: diff.Update, Risk: diff.RiskInPlace,
			Fields: []diff.FieldChange{{Path: "p", Before: text(strings.Repeat("x", 200)), After: text(fmt.Sprint(i))}},
		})
	}
	r.Sort()
	r.Totals = r.Count()
	return r
}

// TestLimit checks that a report of any size fits, with its summary, and that omissions are counted.
func TestLimit(t *testing.T) {
	for _, n := range []int{1, 100, 400, 5000} {
		out := render(t, many(n), markdown.Options{})
		if len(out) > markdown.DefaultLimit {
			t.Errorf("%d changes: %d bytes", n, len(out))
		}
		if !strings.Contains(out, fmt.Sprintf("%d to update", n)) || !strings.Contains(out, fmt.Sprintf("%d to destroy", n)) {
			t.Errorf("%d changes: the summary is lost: %.200s", n, out)
		}
		listed, details := strings.Count(out, " <code>a.b[")+strings.Count(out, " <code>c.d["), strings.Count(out, "<details")
		if left := 2*n - listed; left > 0 && !strings.Contains(out, fmt.Sprintf("%d more changes not listed", left)) {
			t.Errorf("%d changes: %d are left out and not counted: %s", n, left, out[len(out)-200:])
		}
		if left := strings.Count(out, " <code>c.d[") - details; left > 0 &&
			!strings.Contains(out, fmt.Sprintf("Details of %d changes left out", left)) {
			t.Errorf("%d changes: details of %d are left out and not counted: %s", n, left, out[len(out)-200:])
		}
		if n == 5000 && strings.Contains(out, "c.d[") {
			t.Error("what updates has taken the room of what destroys")
		}
	}
}

// TestAnyReportFits checks, for arbitrary reports, that the output is within the limit, starts with
// the summary, and has no block open at its end.
func TestAnyReportFits(t *testing.T) {
	long := rapid.OneOf(rapid.StringN(0, 40, -1),
		rapid.Map(rapid.StringMatching("[`a<&@ ]"), func(s string) string { return strings.Repeat(s, 3000) }))
	rapid.Check(t, func(t *rapid.T) {
		r := sample.Report(t, long)
		limit := rapid.SampledFrom([]int{1, markdown.MinLimit, 5_000, 20_000, 0}).Draw(t, "limit")
		out := render(t, r, markdown.Options{Limit: limit})
		if limit == 0 {
			limit = markdown.DefaultLimit
		}
		if limit = max(limit, markdown.MinLimit); len(out) > limit {
			t.Fatalf("%d bytes of %d", len(out), limit)
		}
		if !strings.HasPrefix(out, "**"+r.Summary()+"**") {
			t.Fatalf("the summary is lost: %.200s", out)
		}
		outside(t, out)
	})
}

// outside returns the lines outside of fences. It fails if a value ends a fence, or if a fence or
// fold stays open.
func outside(t *rapid.T, out string) []string {
	fence, depth := "", 0
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		// a fence may have an indent of up to three blanks, and trailing blanks
		bare := strings.TrimRight(line, " ")
		for range 3 {
			bare = strings.TrimPrefix(bare, " ")
		}
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		opens := len(ticks) >= 3 && (line == ticks || line == ticks+"diff")
		switch {
		case fence == "" && opens:
			fence = ticks
		case fence != "" && line == fence:
			fence = ""
		case fence != "" && len(ticks) >= len(fence) && bare == ticks:
			t.Fatalf("a fence is closed by a value:\n%s", out)
		case fence == "":
			lines = append(lines, line)
			if strings.HasPrefix(line, "<details") {
				depth++
			} else if line == "</details>" {
				depth--
			}
		}
		if depth < 0 || depth > 1 {
			t.Fatalf("folds are not paired:\n%s", out)
		}
	}
	if fence != "" || depth != 0 {
		t.Fatalf("the end is inside a fence or a fold:\n%s", out)
	}
	return lines
}

var (
	evil = rapid.StringMatching("([`~\n<>@\\[\\]()!#*_&\"=+a-c1 -]|```|www\\.|https://|:a:|</details>|<!--|\n\n){0,12}")
	// ours matches the tags that a rendering uses, and code in which forges search for nothing.
	ours    = regexp.MustCompile(`</?(p|details|summary|strong)>|<details open>|<code>[^<]*</code>`)
	entity  = regexp.MustCompile(`&(lt|gt|amp|#34|#8203);`)
	harmful = regexp.MustCompile(`[@#]\w|www\.|://|[<]`)
)

// TestValuesStayInside checks that no value ends its fence, fold or code span, and that the text
// between has no markup from values.
func TestValuesStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := render(t, sample.Report(t, evil), markdown.Options{})
		for _, line := range outside(t, out) {
			rest := ours.ReplaceAllString(line, " ")
			if strings.HasPrefix(line, "<") { // an HTML block
				if found := harmful.FindString(entity.ReplaceAllString(rest, "\u200b")); found != "" {
					t.Fatalf("%q in a block of HTML: %q", found, line)
				}
			} else if found := harmful.FindString(entity.ReplaceAllString(withoutCode(rest), "\u200b")); found != "" {
				t.Fatalf("%q between Markdown: %q", found, line)
			}
		}
	})
}

// withoutCode removes code spans from a line by the rules of CommonMark: a run of backticks, of
// which no backslash escapes the first, to the next run of the same length.
func withoutCode(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		if line[i] == '\\' && i+1 < len(line) {
			b.WriteString(line[i : i+2])
			i += 2
			continue
		}
		run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		if run == 0 {
			b.WriteByte(line[i])
			i++
			continue
		}
		end := closing(line[i+run:], run)
		if end < 0 {
			b.WriteString(line[i : i+run])
			end = 0
		}
		i += run + end
	}
	return b.String()
}

// closing returns the offset after the end of a code span that a run of backticks opened, or -1.
func closing(text string, run int) int {
	for i := 0; i < len(text); {
		ticks := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if ticks == run {
			return i + run
		}
		i += max(ticks, 1)
	}
	return -1
}

// TestProse checks that text between words has nothing that forges and Markdown interpret.
func TestProse(t *testing.T) {
	for note, want := range map[string]string{
		"see @all and #12":             "> see @&#8203;all and \\#&#8203;12",
		"https://evil www.evil.com":    "> https:&#8203;//evil www&#8203;.evil.com",
		"see GH-12":                    "> see GH&#8203;-12",
		"<script>alert(1)</script>":    "> &lt;script&gt;alert(1)&lt;/script&gt;",
		"[a](b) ![c](d) *e* _f_ `g`":   "> \\[a\\](b) \\!&#8203;\\[c\\](d) \\*e\\* \\_f\\_ \\`g\\`",
		"- no list":                    "> \\- no list",
		":smile: a|b ~x~ $1$ &amp; 5%": "> :&#8203;smile: a\\|b \\~&#8203;x\\~ \\$&#8203;1\\$ &amp;&#8203;amp; 5%",
	} {
		out := render(t, &diff.Report{Kind: "test", Notes: []string{note}}, markdown.Options{})
		if !strings.Contains(out, "\n"+want+"\n") {
			t.Errorf("%q becomes\n%s\nwant\n%s", note, out, want)
		}
	}
}

// TestDetailsGoFirstWhereItMatters checks that security findings keep their details when those of
// others no longer fit.
func TestDetailsGoFirstWhereItMatters(t *testing.T) {
	r := many(300)
	c := &r.Changes[599]
	c.AddFindings(diff.Finding{Rule: "opens", Source: "https://example.com", Risk: diff.RiskInPlace, Security: true,
		Message: "it can be reached from everywhere"})
	r.Totals = r.Count()
	out := render(t, r, markdown.Options{Limit: 60_000})
	if !strings.Contains(out, "- **security**: it can be reached from everywhere (`opens`)") {
		t.Errorf("its details are left out:\n%s", out)
	}
	if !strings.Contains(out, "⚠ **1 security change:**") {
		t.Error("the summary does not list it")
	}
	if !strings.Contains(out, "<details><summary>") || strings.Contains(out, "<details open>") {
		t.Error("long details are not folded")
	}
}
