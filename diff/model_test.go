package diff_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
)

// everything returns a report in which every field of every type is set.
func everything() *diff.Report {
	r := &diff.Report{}
	fill(reflect.ValueOf(r).Elem(), new(int))
	return r
}

// fill sets everything below v to a different value that is not zero.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Int:
		v.SetInt(int64(*n%int(diff.RiskDestroy)) + 1)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(fmt.Sprintf("%s is new in a report: teach the tests of the digests about it", v.Type()))
	}
}

// each calls visit with every leaf below v and its name.
func each(v reflect.Value, name string, visit func(name string, leaf reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			each(v.Field(i), name+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Pointer:
		each(v.Elem(), name, visit)
	case reflect.Slice:
		for i := range v.Len() {
			each(v.Index(i), fmt.Sprintf("%s[%d]", name, i), visit)
		}
	default:
		visit(name, v)
	}
}

// TestDigestsCountEverythingButTags checks that a different value anywhere in
// a report, including fields that are added later, changes the digests.
func TestDigestsCountEverythingButTags(t *testing.T) {
	digests := map[string]func(*diff.Report) string{
		"digest": (*diff.Report).Digest,
		"group":  func(r *diff.Report) string { return r.GroupDigest("acme", "ins_1") },
	}
	for kind, digest := range digests {
		r := everything()
		want, leaves := digest(r), 0
		each(reflect.ValueOf(r).Elem(), "report", func(name string, leaf reflect.Value) {
			leaves++
			before := reflect.New(leaf.Type()).Elem()
			before.Set(leaf)
			leaf.SetZero()
			if same := digest(r) == want; same != strings.HasSuffix(name, ".Tag") {
				t.Errorf("%s: another %s is the same report: %t", kind, name, same)
			}
			leaf.Set(before)
		})
		if leaves < 500 || digest(r) != want {
			t.Errorf("%s: looked at %d leaves; the report is as before: %t", kind, leaves, digest(r) == want)
		}
	}
}

func TestReportsRoundTrip(t *testing.T) {
	r := everything()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back diff.Report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, &back); d != "" || back.Digest() != r.Digest() {
		t.Errorf("another report after it was written and read:\n%s", d)
	}
}

// TestDomains checks that the three digests of one report differ.
func TestDomains(t *testing.T) {
	r := everything()
	if r.Digest() == r.GroupDigest() || r.GroupDigest() != r.GroupDigest("nobody") {
		t.Error("a digest is a group digest, or a name that is nowhere changes it")
	}
}

func TestValidateEveryList(t *testing.T) {
	for name, list := range map[string]func(*diff.Report) *[]diff.Change{
		"changes":  func(r *diff.Report) *[]diff.Change { return &r.Changes },
		"outputs":  func(r *diff.Report) *[]diff.Change { return &r.Outputs },
		"hooks":    func(r *diff.Report) *[]diff.Change { return &r.Hooks },
		"tests":    func(r *diff.Report) *[]diff.Change { return &r.Tests },
		"kept":     func(r *diff.Report) *[]diff.Change { return &r.Kept },
		"drift":    func(r *diff.Report) *[]diff.Change { return &r.Drift },
		"deferred": func(r *diff.Report) *[]diff.Change { return &r.Deferred },
	} {
		valid := func() *diff.Report {
			r := &diff.Report{Kind: "test"}
			*list(r) = []diff.Change{{Address: "a", Action: diff.Noop}, {Address: "b", Deposed: "1", Action: diff.Noop},
				{Address: "b", Deposed: "2", Action: diff.Noop}}
			r.Totals = r.Count()
			return r
		}
		if err := valid().Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for want, spoil := range map[string]func([]diff.Change){
			"no address":          func(l []diff.Change) { l[1].Address = "" },
			"not sorted":          func(l []diff.Change) { l[0], l[1] = l[1], l[0] },
			"are not sorted":      func(l []diff.Change) { l[1].Deposed, l[2].Deposed = "2", "1" },
			`action "x"`:          func(l []diff.Change) { l[1].Action = "x" },
			`action ""`:           func(l []diff.Change) { l[1].Action = "" },
			"order":               func(l []diff.Change) { l[1].Order = "x" },
			"risk -1":             func(l []diff.Change) { l[1].Risk = -1 },
			"risk 6":              func(l []diff.Change) { l[1].Risk = 6 },
			"no rule or no words": func(l []diff.Change) { l[1].Findings = []diff.Finding{{Rule: "r"}} },
			"no rule":             func(l []diff.Change) { l[1].Findings = []diff.Finding{{Message: "w"}} },
			"is lower than rule": func(l []diff.Change) {
				l[1].Findings = []diff.Finding{{Rule: "r", Message: "w", Risk: diff.RiskRestart}}
			},
			"than rule": func(l []diff.Change) { l[1].Findings = []diff.Finding{{Rule: "r", Message: "w", Risk: -1}} },
			"has text": func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{Before: diff.ShownValue{Masked: true, Sum: "x"}}}
			},
			"is masked": func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{Before: diff.ShownValue{Masked: true, Type: diff.TypeList}}}
			},
			"masked but has": func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Masked: true, Size: 1}}}
			},
			"no value but": func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{Before: diff.ShownValue{Absent: true, Text: "x", Type: diff.TypeString}}}
			},
			"has no value": func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Unknown: true, Type: diff.TypeString}}}
			},
			`no valid "number"`: func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Type: diff.TypeNumber, Text: "(sensitive, unchanged)"}}}
			},
			`no valid "bool"`: func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Type: diff.TypeBool, Text: "1"}}}
			},
			`no valid "list"`: func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Type: diff.TypeList, Text: "[] (none)"}}}
			},
			`no valid "word"`: func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Type: "word", Text: "(none)"}}}
			},
			`no valid ""`: func(l []diff.Change) { l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Text: "(none)"}}} },
			`line that is "hidden"`: func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{Lines: []diff.Line{{Op: "hidden"}}}}
			},
			"line that counts -1": func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{Lines: []diff.Line{{Op: diff.LineMore, Count: -1}}}}
			},
			"object that another": func(l []diff.Change) {
				l[1].Renamed, l[1].From, l[1].Action, l[1].Risk = true, "x", diff.Create, diff.RiskDestroy
			},
			"no action for an object that another": func(l []diff.Change) {
				l[1].Renamed, l[1].Action, l[1].Risk = true, diff.Replace, diff.RiskDestroy
			},
			"but has text": func(l []diff.Change) {
				l[1].Fields = []diff.FieldChange{{After: diff.ShownValue{Masked: true}, Lines: []diff.Line{{Text: "x"}}}}
			},
		} {
			r := valid()
			spoil(*list(r))
			r.Totals = r.Count()
			if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: want an error with %q, got %v", name, want, err)
			}
		}
	}
}

func TestValidateTheRest(t *testing.T) {
	for want, spoil := range map[string]func(*diff.Report){
		`status "x"`:       func(r *diff.Report) { r.Checks = []diff.Check{{Address: "a", Status: "x"}} },
		`checks: ""`:       func(r *diff.Report) { r.Checks = []diff.Check{{Status: diff.CheckPass}} },
		"notes or folds":   func(r *diff.Report) { r.Folded = make([]diff.Fold, 101) },
		"risk in_place is": func(r *diff.Report) { r.Changes[0].Action = diff.Replace },
		"hooks: \"h\": risk none is too low": func(r *diff.Report) {
			r.Hooks = []diff.Change{{Address: "h", Action: diff.Update}}
		},
		"for an object that stays": func(r *diff.Report) {
			r.Kept = []diff.Change{{Address: "k", Action: diff.Destroy, Risk: diff.RiskDestroy}}
		},
	} {
		r := &diff.Report{Kind: "test", Changes: []diff.Change{{Address: "a", Action: diff.Update, Risk: diff.RiskInPlace}}}
		spoil(r)
		r.Totals = r.Count()
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// TestValidateCountsAllTotals checks that a wrong number in any total is
// detected, including totals that are added later.
func TestValidateCountsAllTotals(t *testing.T) {
	fields := reflect.TypeFor[diff.Totals]()
	for i := range fields.NumField() {
		r := sample()
		f := reflect.ValueOf(&r.Totals).Elem().Field(i)
		f.SetInt(f.Int() + 1)
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is one too high: %v", fields.Field(i).Name, err)
		}
	}
}

func TestCount(t *testing.T) {
	secure := []diff.Finding{{Rule: "r", Message: "w", Security: true}}
	noise := []diff.FieldChange{{Path: "p", Fold: "chart label"}}
	r := &diff.Report{
		Kind: "test",
		Changes: []diff.Change{
			{Action: diff.Create, Findings: secure}, {Action: diff.Update, From: "x"},
			{Action: diff.Replace, From: "x", Renamed: true},
			{Action: diff.Destroy}, {Action: diff.Move, From: "x"}, {Action: diff.Import, Imported: true},
			{Action: diff.Update, Imported: true},
			{Action: diff.Forget}, {Action: diff.Read}, {Action: diff.Noop}, {Action: diff.Update, Fields: noise},
			{Action: diff.Update, Fields: noise, Findings: secure[:0]}, {Action: diff.Update, Fields: noise, Findings: secure},
		},
		Outputs: []diff.Change{{Action: diff.Create}},
		Hooks: []diff.Change{{Action: diff.Create, Findings: secure}, {Action: diff.Replace},
			{Action: diff.Replace, From: "x", Renamed: true}},
		Tests:    []diff.Change{{}, {}, {}},
		Kept:     []diff.Change{{Action: diff.Forget}},
		Drift:    []diff.Change{{Action: diff.Destroy}, {}},
		Deferred: []diff.Change{{Action: diff.Destroy}},
		Checks: []diff.Check{{Status: diff.CheckPass}, {Status: diff.CheckFail}, {Status: diff.CheckError},
			{Status: diff.CheckUnknown}},
	}
	r.AddFold(diff.FoldUnchanged, diff.FoldResources, 5)
	r.AddFold(diff.FoldUnchanged, diff.FoldObjects, 2)
	r.AddFold(diff.FoldUnchanged, diff.FoldOutputs, 9)
	r.AddFold("chart label", diff.FoldObjects, 9)
	want := diff.Totals{
		Create: 1, Update: 3, Replace: 2, Destroy: 1, Move: 2, Import: 2, Forget: 1, Read: 1, Drift: 2, Deferred: 1,
		Outputs: 1, Hooks: 3,
		Tests: 3, Kept: 1, Noise: 2, Failed: 2, Security: 3, Unchanged: 7,
	}
	if d := cmp.Diff(want, r.Count()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDestructive checks which lists and actions count as a loss.
func TestDestructive(t *testing.T) {
	replaces, renamed := diff.Change{Action: diff.Replace}, diff.Change{Action: diff.Replace, Renamed: true}
	for name, c := range map[string]struct {
		report diff.Report
		losses int
	}{
		"a change":   {diff.Report{Changes: []diff.Change{replaces, {Action: diff.Update}}}, 1},
		"a new name": {diff.Report{Changes: []diff.Change{renamed}}, 1},
		"a hook":     {diff.Report{Hooks: []diff.Change{replaces, {Action: diff.Create}}}, 1},
		"both": {diff.Report{Changes: []diff.Change{{Action: diff.Destroy}}, Hooks: []diff.Change{replaces}},
			2},
		"a hook with a new name":     {diff.Report{Hooks: []diff.Change{renamed}}, 0},
		"a test, which does not run": {diff.Report{Tests: []diff.Change{replaces}}, 0},
		"what has happened":          {diff.Report{Drift: []diff.Change{{Action: diff.Destroy}}}, 0},
	} {
		if got := len(c.report.Losses()); got != c.losses || c.report.Destructive() != (c.losses > 0) {
			t.Errorf("%s: %d losses, want %d, destructive %t", name, got, c.losses, c.report.Destructive())
		}
	}
}

func TestNoise(t *testing.T) {
	folded, shown := diff.FieldChange{Fold: "default"}, diff.FieldChange{}
	for name, c := range map[string]struct {
		change diff.Change
		noise  bool
	}{
		"all folded":   {diff.Change{Action: diff.Update, Fields: []diff.FieldChange{folded, folded}}, true},
		"one is shown": {diff.Change{Action: diff.Update, Fields: []diff.FieldChange{folded, shown}}, false},
		"no fields":    {diff.Change{Action: diff.Update}, false},
		"created":      {diff.Change{Action: diff.Create, Fields: []diff.FieldChange{folded}}, false},
		"replaced":     {diff.Change{Action: diff.Replace, Fields: []diff.FieldChange{folded}}, false},
		"it restarts": {diff.Change{Action: diff.Update, Risk: diff.RiskRestart, Fields: []diff.FieldChange{folded}},
			false},
		"a rule says so": {diff.Change{Action: diff.Update, Fields: []diff.FieldChange{folded}, Findings: []diff.Finding{{}}},
			false},
	} {
		if got := c.change.IsNoise(); got != c.noise {
			t.Errorf("%s: noise %t", name, got)
		}
	}
}

func TestJudge(t *testing.T) {
	c := diff.Change{Action: diff.Update, Risk: diff.RiskInPlace}
	c.AddFindings()
	if c.Risk != diff.RiskInPlace || c.HasSecurityFinding() {
		t.Errorf("nothing was found, but %+v", c)
	}
	c.AddFindings(diff.Finding{Rule: "b", Risk: diff.RiskNone}, diff.Finding{Rule: "b", Path: "2", Risk: diff.RiskRestart},
		diff.Finding{Rule: "b", Path: "1", Risk: diff.RiskRestart})
	c.AddFindings(diff.Finding{Rule: "a", Risk: diff.RiskRestart, Security: true})
	var order []string
	for _, f := range c.Findings {
		order = append(order, f.Rule+f.Path)
	}
	if got := strings.Join(order, " "); got != "a b1 b2 b" || c.Risk != diff.RiskRestart || !c.HasSecurityFinding() {
		t.Errorf("order %s, risk %s, security %t", got, c.Risk, c.HasSecurityFinding())
	}
}

func TestAddFold(t *testing.T) {
	var r diff.Report
	r.AddFold("a", "x", 1)
	r.AddFold("b", "x", 0)
	r.AddFold("a", "y", 1)
	r.AddFold("a", "x", 2)
	want := []diff.Fold{{Rule: "a", What: "x", Count: 3}, {Rule: "a", What: "y", Count: 1}}
	if d := cmp.Diff(want, r.Folded); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
