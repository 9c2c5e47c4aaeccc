package diff_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
)

// bump returns an update of an object, with fields and findings drawn from so
// few that many are equal.
func bump(t *rapid.T, i int) diff.Change {
	kind := rapid.SampledFrom([]string{"ConfigMap", "Deployment.apps", "Service"}).Draw(t, "kind")
	namespace := rapid.SampledFrom([]string{"", "shop"}).Draw(t, "namespace")
	name := fmt.Sprintf("o%02d", i)
	c := diff.Change{
		Address: strings.TrimPrefix(namespace+"/"+kind+"/"+name, "/"), Namespace: namespace, ResourceKind: kind, Name: name,
		Action: rapid.SampledFrom([]diff.Action{diff.Update, diff.Update, diff.Update, diff.Update, diff.Create,
			diff.Destroy}).Draw(t, "action"),
	}
	c.Risk = c.Action.Risk()
	side := rapid.SampledFrom([]diff.ShownValue{
		{Text: "1", Type: diff.TypeString}, {Text: "1", Type: diff.TypeNumber}, {Absent: true},
		{Masked: true, Mark: diff.MarkChanged, Tag: "aa"},
		{Masked: true, Mark: diff.MarkChanged, Tag: "bb"},
	})
	for range rapid.IntRange(0, 2).Draw(t, "fields") {
		path := rapid.SampledFrom([]string{"spec.image", "metadata.labels.a", "spec.image.tag"}).Draw(t, "path")
		f := diff.FieldChange{Path: path, Pointer: "/" + path, Before: side.Draw(t, "before"), After: side.Draw(t, "after")}
		if rapid.IntRange(0, 4).Draw(t, "fold") == 0 {
			f.Fold = "chart label"
		}
		c.Fields = append(c.Fields, f)
	}
	if rapid.IntRange(0, 3).Draw(t, "finding") == 0 {
		c.AddFindings(diff.Finding{Rule: "r", Message: "w", Path: "spec.image", Security: rapid.Bool().Draw(t, "security")})
	}
	return c
}

// TestGroupingLosesNothing reads each object's fields and findings back from
// what is printed for its group: they equal the object's own, each object is
// in one group, and no group has a create or destroy.
func TestGroupingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &diff.Report{Kind: diff.KindKubernetes}
		for i := range rapid.IntRange(0, 25).Draw(t, "objects") {
			r.Changes = append(r.Changes, bump(t, i))
		}
		r.Sort()
		r.Totals = r.Count()
		var want, got []string
		for i := range r.Changes {
			if c := &r.Changes[i]; !c.IsNoise() {
				want = append(want, facts(c.Address, c)...)
			}
		}
		for _, s := range r.Sections() {
			var inOrder []*diff.Change
			for _, p := range s.Parts {
				var inPart []*diff.Change
				for i := range p.Entries {
					e := &p.Entries[i]
					for _, c := range e.Changes {
						got = append(got, facts(c.Address, e.Changes[0])...)
						if e.IsGroup() && c.Action != diff.Update {
							t.Fatalf("%s: %s stands in a group", c.Address, c.Action)
						}
					}
					inPart = append(inPart, e.Changes...)
				}
				if !slices.Equal(inPart, p.Changes) {
					t.Fatal("the entries and the changes of a part differ")
				}
				inOrder = append(inOrder, inPart...)
			}
			if !slices.Equal(inOrder, s.Changes) {
				t.Fatal("the parts and the changes of a section differ")
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("-objects +groups:\n%s", d)
		}
	})
}

// facts returns what a change states about an object.
func facts(address string, c *diff.Change) []string {
	out := []string{fmt.Sprint(address, c.Action, c.Risk, c.Why)}
	for _, f := range c.Fields {
		out = append(out, fmt.Sprintf("%s %s: %+v → %+v %q", address, f.Path, f.Before, f.After, f.Fold))
	}
	for _, f := range c.Findings {
		out = append(out, fmt.Sprintf("%s: %+v", address, f))
	}
	return out
}

// TestGroupNames checks the list of the objects of a group, in which those
// with a common prefix are joined.
func TestGroupNames(t *testing.T) {
	r := &diff.Report{Kind: diff.KindKubernetes}
	for _, address := range []string{"Deployment.apps/api", "Deployment.apps/web", "Service/api", "StatefulSet.apps/db"} {
		kind, name, _ := strings.Cut(address, "/")
		r.Changes = append(r.Changes, diff.Change{Address: "shop/" + address, Namespace: "shop", ResourceKind: kind,
			Name: name, Action: diff.Update,
			Fields: []diff.FieldChange{{Path: "metadata.labels.team", Before: diff.ShownValue{Absent: true},
				After: diff.ShownValue{Text: "a", Type: diff.TypeString}}}})
	}
	r.Totals = r.Count()
	s := r.Sections()[0]
	entries := s.Parts[0].Entries
	if len(entries) != 1 || entries[0].Title() != "4 objects" ||
		entries[0].Headline(&s) != "update in place, the same in each" {
		t.Fatalf("entries: %+v", entries)
	}
	names, more := entries[0].Names(3)
	if d := cmp.Diff([]string{"shop/Deployment.apps/{api, web}", "shop/Service/api"}, names); d != "" || more != 1 {
		t.Errorf("%d more, names: %s", more, d)
	}
}

// TestWhatDiffersStaysApart changes each field of a change, of a field and of
// a finding in one of three equal changes, and checks that the change leaves
// the group. It covers fields that are added to these types later.
func TestWhatDiffersStaysApart(t *testing.T) {
	text := func(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeString} }
	grouped := func(spoil func(*diff.Change)) bool {
		r := &diff.Report{Kind: diff.KindKubernetes}
		for i := range 3 {
			r.Changes = append(r.Changes, diff.Change{
				Address: fmt.Sprint(i), Action: diff.Update, Risk: diff.RiskRestart,
				Findings: []diff.Finding{{Rule: "r", Message: "w"}},
				Fields: []diff.FieldChange{{Path: "a", Before: text("1"), After: text("2"), Element: &diff.Element{Path: "a"},
					Moved: []diff.ElementMove{{Name: "m"}}, Lines: []diff.Line{{Text: "l"}}}},
			})
		}
		spoil(&r.Changes[1])
		return r.Sections()[0].Parts[0].Entries[0].IsGroup()
	}
	if !grouped(func(*diff.Change) {}) {
		t.Fatal("three changes that are the same are no group")
	}
	own := map[string]bool{"Address": true, "Module": true, "Namespace": true, "ResourceKind": true, "Name": true,
		"Unchanged": true}
	var try func(name string, at func(*diff.Change) reflect.Value)
	try = func(name string, at func(*diff.Change) reflect.Value) {
		v := at(&diff.Change{Findings: make([]diff.Finding, 1), Fields: []diff.FieldChange{{Element: &diff.Element{},
			Moved: make([]diff.ElementMove, 1), Lines: make([]diff.Line, 1)}}})
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if field := v.Type().Field(i).Name; name != "" || !own[field] {
					try(name+"."+field, func(c *diff.Change) reflect.Value { return at(c).Field(i) })
				}
			}
		case reflect.Slice:
			try(name+"[0]", func(c *diff.Change) reflect.Value { return at(c).Index(0) })
		case reflect.Pointer:
			try(name, func(c *diff.Change) reflect.Value { return at(c).Elem() })
		default:
			if grouped(func(c *diff.Change) {
				switch v := at(c); v.Kind() {
				case reflect.Bool:
					v.SetBool(!v.Bool())
				case reflect.String:
					v.SetString(v.String() + "x")
				default:
					v.SetInt(v.Int() + 1)
				}
			}) {
				t.Errorf("a change with another %s is in the group", name)
			}
		}
	}
	try("", func(c *diff.Change) reflect.Value { return reflect.ValueOf(c).Elem() })
}
