package diff_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

func sample() *diff.Report {
	r := &diff.Report{
		Kind: "test",
		Changes: []diff.Change{
			{Address: "b", Action: diff.Update, Risk: diff.RiskInPlace},
			{Address: "a", Action: diff.Create, Risk: diff.RiskAdditive, From: "z"},
		},
		Folded:    []diff.Fold{{Rule: diff.FoldUnchanged, What: diff.FoldResources, Count: 12}},
		Applyable: true,
	}
	r.Sort()
	r.Totals = r.Count()
	return r
}

func TestValidate(t *testing.T) {
	if err := sample().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*diff.Report){
		"no kind":         func(r *diff.Report) { r.Kind = "" },
		"not sorted":      func(r *diff.Report) { r.Changes[0], r.Changes[1] = r.Changes[1], r.Changes[0] },
		"its lists count": func(r *diff.Report) { r.Totals.Destroy = 1 },
		"not known":       func(r *diff.Report) { r.Changes[0].Action = "explode" },
		"too low":         func(r *diff.Report) { r.Changes[0].Action, r.Totals = diff.Destroy, diff.Totals{} },
		"no address":      func(r *diff.Report) { r.Changes[0].Address = "" },
		"masked but has": func(r *diff.Report) {
			r.Changes[0].Fields = []diff.FieldChange{{After: diff.ShownValue{Masked: true, Text: "x"}}}
		},
		"order":            func(r *diff.Report) { r.Changes[0].Order = "sideways" },
		"folds -1":         func(r *diff.Report) { r.Folded[0].Count = -1 },
		"a note of":        func(r *diff.Report) { r.Notes = []string{strings.Repeat("x", 2000)} },
		"more than 100":    func(r *diff.Report) { r.Notes = make([]string, 101) },
		"risk 9 is not kn": func(r *diff.Report) { r.Changes[0].Risk = 9 },
	} {
		r := sample()
		spoil(r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestDestructiveAndRisk(t *testing.T) {
	r := sample()
	if r.Destructive() || r.Risk() != diff.RiskInPlace {
		t.Errorf("destructive %t, risk %s", r.Destructive(), r.Risk())
	}
	r.Drift = []diff.Change{{Address: "d", Action: diff.Destroy}}
	if r.Destructive() {
		t.Error("drift is not this plan's doing")
	}
	r.Changes[0].Action, r.Changes[0].Risk = diff.Replace, diff.RiskReplace
	if !r.Destructive() || r.Risk() != diff.RiskReplace {
		t.Errorf("destructive %t, risk %s", r.Destructive(), r.Risk())
	}
}

// TestDigestCountsEverythingShown checks that each single difference changes the digest.
func TestDigestCountsEverythingShown(t *testing.T) {
	seen := map[string]string{sample().Digest(): "nothing"}
	for name, change := range map[string]func(*diff.Report){
		"address":   func(r *diff.Report) { r.Changes[0].Address = "aa" },
		"action":    func(r *diff.Report) { r.Changes[0].Action = diff.Destroy },
		"order":     func(r *diff.Report) { r.Changes[0].Order = diff.CreateFirst },
		"why":       func(r *diff.Report) { r.Changes[0].Why = "x" },
		"output":    func(r *diff.Report) { r.Outputs = []diff.Change{{Address: "o"}} },
		"drift":     func(r *diff.Report) { r.Drift = []diff.Change{{Address: "o"}} },
		"deferred":  func(r *diff.Report) { r.Deferred = []diff.Change{{Address: "o"}} },
		"applyable": func(r *diff.Report) { r.Applyable = false },
		"note":      func(r *diff.Report) { r.Notes = []string{"x"} },
		"field":     func(r *diff.Report) { r.Changes[0].Fields = []diff.FieldChange{{Path: "p"}} },
		"mark": func(r *diff.Report) {
			r.Changes[0].Fields = []diff.FieldChange{{Path: "p", After: diff.ShownValue{Mark: diff.MarkSame}}}
		},
		"risk":     func(r *diff.Report) { r.Changes[0].Risk = diff.RiskDestroy },
		"bad risk": func(r *diff.Report) { r.Changes[0].Risk = 99 },
	} {
		r := sample()
		change(r)
		d := r.Digest()
		if !strings.HasPrefix(d, "sha256:") || len(d) != 71 {
			t.Errorf("%s: digest %q", name, d)
		}
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}

func TestRiskText(t *testing.T) {
	for r := diff.RiskNone; r <= diff.RiskDestroy; r++ {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back diff.Risk
		if err := json.Unmarshal(data, &back); err != nil || back != r {
			t.Errorf("%s: %v, %v", data, back, err)
		}
	}
	if _, err := json.Marshal(diff.Risk(17)); err == nil {
		t.Error("an unknown risk can be marshalled")
	}
	var r diff.Risk
	if err := json.Unmarshal([]byte(`"grave"`), &r); err == nil {
		t.Error("an unknown risk can be read")
	}
}

// TestEscapeTextPrintsOnly checks that the output of EscapeText never controls a
// terminal, and that printable text is unchanged.
func TestEscapeTextPrintsOnly(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 漢":          "plain ü 漢",
		"\x1b[2J\x07":        `\x1b[2J\a`,
		"a\tb\nc\r":          `a\tb\nc\r`,
		"\u202egnp.exe":      `\u202egnp.exe`,
		"zero\u200bwidth":    `zero\u200bwidth`,
		"c1 \u009b31m":       `c1 \u009b31m`,
		"line\u2028 \ufeff":  `line\u2028 \ufeff`,
		"adm\ufe0fin\u034f":  `adm\ufe0fin\u034f`,
		"\u3164\u2800\u115f": `\u3164\u2800\u115f`,
		"tag \U000e0101":     `tag \U000e0101`,
		"\u2764\ufe0f ok":    "\u2764\ufe0f ok",
		"bad \xff utf8":      "bad \uFFFD utf8",
	} {
		if got := diff.EscapeText(in); got != want {
			t.Errorf("Neutral(%q) = %q, want %q", in, got, want)
		}
		if got := (diff.ShownValue{Type: diff.TypeNumber, Text: in}).Display(); got != want {
			t.Errorf("a number %q is shown as %q, want %q", in, got, want)
		}
		if got := (diff.ShownValue{Type: diff.TypeString, Text: in}).Display(); diff.EscapeText(got) != got {
			t.Errorf("a string %q is shown as %q", in, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, r := range diff.EscapeText(in) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q is in Neutral(%q)", r, in)
			}
		}
	})
}

// TestCutsAreFound checks that changed content that a report does not hold leads to a finding that
// prevents approval in a group or by a rule, and that content merely folded on a screen does not.
func TestCutsAreFound(t *testing.T) {
	repeated := func(text string, n int) diff.UnmaskedSide { return side(t, strings.Repeat(text, n)) }
	absent := diff.UnmaskedSide{Absent: true}
	for name, try := range map[string]struct {
		before, after diff.UnmaskedSide
		want          string
	}{
		"a screen folds a value":   {side(t, "a"), repeated("x", 60_000), ""},
		"a screen folds lines":     {side(t, "a\n"), repeated("x\n", 1_500), ""},
		"padding before a payload": {side(t, "a"), repeated("x", 70_000), "not shown: 1 changed line, too long for a report"},
		"lines before a payload": {side(t, "a\n"), repeated("x\n", 3_000),
			"not shown: 1001 changed lines, too long for a report"},
		"one long line": {side(t, "a\nb\n"), side(t, "a\n"+strings.Repeat("x", 5_000)+"\n"),
			"not shown: 1 changed line, too long for a report"},
		"a new value": {absent, repeated("x", 70_000), "not shown: 1 changed line, too long for a report"},
		"lines that stay": {side(t, strings.Repeat("y", 9_000)+"\nb\n"), side(t, strings.Repeat("y", 9_000)+"\nc\n"),
			""},
	} {
		m := diff.NewMasker(diff.MaskOptions{})
		c := diff.Change{Address: "a", Action: diff.Update, Risk: diff.RiskInPlace,
			Fields: []diff.FieldChange{m.Field(nil, try.before, try.after)}}
		r := &diff.Report{Kind: "test", Changes: []diff.Change{c}, Applyable: true}
		r.AddCutFindings()
		r.Totals = r.Count()
		got := ""
		for _, f := range r.Changes[0].Findings {
			got += f.Message
		}
		if got != try.want || r.NeedsIndividualApproval() != (try.want != "") || r.Validate() != nil {
			t.Errorf("%s: %q, want %q; individual approval: %t; %v", name, got, try.want, r.NeedsIndividualApproval(),
				r.Validate())
		}
	}
}

// TestCutNamesAreFound covers two keys or addresses that differ only after
// the part that is shown: a reader cannot see which one changes.
func TestCutNamesAreFound(t *testing.T) {
	m := diff.NewMasker(diff.MaskOptions{})
	for name, n := range map[string]int{"short": 60_000, "long": 70_000} {
		text := strings.Repeat("k", n)
		for what, c := range map[string]diff.Change{
			"key": {Address: "a", Fields: []diff.FieldChange{m.Field(tree.Path{{Key: text}}, side(t, "a"), side(t, "b"))}},
			"address": {Address: m.Name(text),
				Fields: []diff.FieldChange{m.Field(tree.Path{{Key: "k"}}, side(t, "a"), side(t, "b"))}},
		} {
			c.Action, c.Risk = diff.Update, diff.RiskInPlace
			r := &diff.Report{Kind: "test", Changes: []diff.Change{c}, Applyable: true}
			r.AddCutFindings()
			if found := len(r.Changes[0].Findings) == 1 && r.NeedsIndividualApproval(); found != (name == "long") {
				t.Errorf("%s %s: findings %+v", name, what, r.Changes[0].Findings)
			}
		}
	}
}
