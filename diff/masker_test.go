package diff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

func raw(t *testing.T, text string) diff.Raw {
	t.Helper()
	r, err := diff.ParseRaw([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestMaskerField(t *testing.T) {
	side := func(text string) diff.UnmaskedSide { return diff.UnmaskedSide{Value: raw(t, text)} }
	secret := func(text string) diff.UnmaskedSide { return diff.UnmaskedSide{Value: raw(t, text), Sensitive: true} }
	absent, unknown := diff.UnmaskedSide{Absent: true}, diff.UnmaskedSide{Unknown: true}
	known := diff.NewSecrets([]byte("planted")).Contains
	for _, c := range []struct {
		name          string
		before, after diff.UnmaskedSide
		want          diff.FieldChange
	}{
		{"string", side(`"a"`), side(`"b"`), diff.FieldChange{
			Before: diff.ShownValue{Text: "a", Type: diff.TypeString}, After: diff.ShownValue{Text: "b",
				Type: diff.TypeString}}},
		{"number as written", side(`12345678901234567890`), side(`null`), diff.FieldChange{
			Before: diff.ShownValue{Text: "12345678901234567890", Type: diff.TypeNumber},
			After:  diff.ShownValue{Text: "null", Type: diff.TypeNull}}},
		{"object", absent, side(`{"b":[1,"<"],"a":true}`), diff.FieldChange{
			Before: diff.ShownValue{Absent: true}, After: diff.ShownValue{Text: `{"a":true,"b":[1,"<"]}`,
				Type: diff.TypeObject}}},
		{"unknown", side(`1`), unknown, diff.FieldChange{
			Before: diff.ShownValue{Text: "1", Type: diff.TypeNumber}, After: diff.ShownValue{Unknown: true}}},
		{"sensitive, changed", secret(`"a"`), secret(`"b"`), diff.FieldChange{
			Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Masked: true, Mark: diff.MarkChanged}}},
		{"sensitive, same", secret(`"a"`), secret(`"a"`), diff.FieldChange{
			Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Masked: true, Mark: diff.MarkSame}}},
		{"sensitive, new", absent, secret(`"a"`), diff.FieldChange{
			Before: diff.ShownValue{Absent: true}, After: diff.ShownValue{Masked: true, Mark: diff.MarkNew}}},
		{"sensitive, removed", secret(`"a"`), absent, diff.FieldChange{
			Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Absent: true}}},
		{"sensitive, then unknown", secret(`"a"`), unknown, diff.FieldChange{
			Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Masked: true, Unknown: true}}},
		{"no longer sensitive", secret(`"a"`), side(`"b"`), diff.FieldChange{
			Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Masked: true, Mark: diff.MarkChanged}}},
		{"the predecessor of a known secret", side(`"old"`), side(`"x planted"`), diff.FieldChange{
			Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Masked: true, Mark: diff.MarkChanged}}},
		{"a known secret deep inside", side(`[]`), side(`[{"a":["cGxhbnRlZA=="]}]`), diff.FieldChange{
			Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Masked: true, Mark: diff.MarkChanged}}},
		{"a known secret as a key", absent, side(`{"planted":1}`), diff.FieldChange{
			Before: diff.ShownValue{Absent: true}, After: diff.ShownValue{Masked: true, Mark: diff.MarkNew}}},
		{"lines", side(`"a\nb\n"`), side(`"a\nc"`), diff.FieldChange{
			Before: diff.ShownValue{Text: "a\nb\n", Type: diff.TypeString}, After: diff.ShownValue{Text: "a\nc",
				Type: diff.TypeString},
			Lines: []diff.Line{{Op: diff.LineSame, Text: "a"}, {Op: diff.LineRemoved, Text: "b"},
				{Op: diff.LineAdded, Text: "c (no newline at the end)"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := diff.NewMasker(diff.MaskOptions{Secrets: known}).Field(nil, c.before, c.after)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestMaskerLearns(t *testing.T) {
	m := diff.NewMasker(diff.MaskOptions{})
	m.Learn(raw(t, `{"password":"x7planted9","pin":12345678,"on":true,"flag":"true","two":"a1b2c3d","host":"db.shop.svc","word":"production"}`))
	for text, want := range map[string]bool{
		"x7planted9": true, "a x7planted9 b": true, "12345678": false, "a1b2c3d": false, "db.shop.svc": false,
		"production": false, "password": false, "pin": false, "true": false, "xy": false,
	} {
		if got := m.Text(text) == diff.MarkHidden; got != want {
			t.Errorf("%q hidden: %t, want %t", text, got, want)
		}
	}
}

func TestLongValuesAreCutAroundTheDifference(t *testing.T) {
	before, after := `"`+strings.Repeat("é", 5000)+`A"`, `"`+strings.Repeat("é", 5000)+`B"`
	m := diff.NewMasker(diff.MaskOptions{Limit: 100})
	f := m.Field(tree.Path{}.Field("p"), diff.UnmaskedSide{Value: raw(t, before)}, diff.UnmaskedSide{Value: raw(t, after)})
	for _, s := range []diff.ShownValue{f.Before, f.After} {
		if len(s.Text) > 100 || s.Size != 10_001 || s.Sum == "" || s.Start == 0 {
			t.Errorf("not cut as it should be: %d bytes, %+v", len(s.Text), s)
		}
	}
	if !strings.HasSuffix(f.Before.Text, "A") || !strings.HasSuffix(f.After.Text, "B") || f.Before.Sum == f.After.Sum {
		t.Errorf("the difference is not shown: %q and %q", f.Before.Text, f.After.Text)
	}
	if got := f.After.Display(); !strings.HasPrefix(got, `…"é`) || !strings.HasSuffix(got, `B" (99 of 10001 bytes)`) {
		t.Errorf("display: %s", got)
	}
}

func TestCutValuesCountWholeInTheDigest(t *testing.T) {
	report := func(middle string) *diff.Report {
		text := `"` + strings.Repeat("x", 500) + middle + strings.Repeat("y", 500) + `"`
		m := diff.NewMasker(diff.MaskOptions{Limit: 50})
		f := m.Field(tree.Path{}.Field("p"), diff.UnmaskedSide{Absent: true}, diff.UnmaskedSide{Value: raw(t, text)})
		return &diff.Report{Kind: "test",
			Changes: []diff.Change{{Address: "a", Action: diff.Create, Fields: []diff.FieldChange{f}}}}
	}
	a, b := report("1"), report("2")
	if a.Changes[0].Fields[0].After.Text != b.Changes[0].Fields[0].After.Text {
		t.Fatal("the texts should be alike: this test compares what is cut off")
	}
	if a.Digest() == b.Digest() {
		t.Error("what is cut off is lost from the digest")
	}
}

func TestTagsAreForDisplayOnly(t *testing.T) {
	report := func(key, before, after string) *diff.Report {
		m := diff.NewMasker(diff.MaskOptions{TagKey: []byte(key)})
		f := m.Field(tree.Path{}.Field("p"), diff.UnmaskedSide{Value: raw(t, before), Sensitive: true},
			diff.UnmaskedSide{Value: raw(t, after), Sensitive: true})
		return &diff.Report{Kind: "test",
			Changes: []diff.Change{{Address: "a", Action: diff.Update, Fields: []diff.FieldChange{f}}}}
	}
	one := report("k1", `"a"`, `"b"`)
	f := one.Changes[0].Fields[0]
	if f.Before.Tag == "" || f.Before.Tag == f.After.Tag {
		t.Errorf("tags %q and %q", f.Before.Tag, f.After.Tag)
	}
	if other := report("k2", `"a"`, `"b"`).Changes[0].Fields[0]; other.Before.Tag == f.Before.Tag {
		t.Error("the tag does not depend on the key")
	}
	for name, same := range map[string]*diff.Report{
		"another key": report("k2", `"a"`, `"b"`), "no key": report("", `"a"`, `"b"`),
		"other secrets": report("k1", `"c"`, `"d"`),
	} {
		if one.Digest() != same.Digest() {
			t.Errorf("%s makes another digest", name)
		}
	}
	if one.Digest() == report("k1", `"a"`, `"a"`).Digest() {
		t.Error("changed and same have one digest")
	}
	if f.Before.Tag == "" {
		t.Error("Digest took the tags out of the report itself")
	}
}
