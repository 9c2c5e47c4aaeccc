package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
)

func fieldsOf(texts ...[3]string) *diff.Change {
	c := &diff.Change{Action: diff.Update}
	for _, t := range texts {
		c.Fields = append(c.Fields, diff.FieldChange{Path: t[0],
			Before: diff.ShownValue{Text: t[1], Type: diff.TypeString}, After: diff.ShownValue{Text: t[2],
				Type: diff.TypeString}})
	}
	return c
}

func all(c *diff.Change) []int32 {
	var out []int32
	for i := range c.Fields {
		out = append(out, int32(i))
	}
	return out
}

// TestRepeats covers changes that several places of an object share.
func TestRepeats(t *testing.T) {
	for _, test := range []struct {
		why  string
		c    *diff.Change
		want map[int32]string
	}{
		{"tags and tags_all", fieldsOf([3]string{"tags.Team", "a", "b"}, [3]string{"tags.X", "1", "2"},
			[3]string{"tags_all.Team", "a", "b"},
			[3]string{"tags_all.X", "1", "3"}), map[int32]string{0: "(the same in tags_all)"}},
		{"three elements", fieldsOf([3]string{"hooks[a].service", "x", "y"}, [3]string{"hooks[b].service", "x", "y"},
			[3]string{`hooks["c]"].service`, "x", "y"}), map[int32]string{0: `(the same in [b] and ["c]"])`}},
		{"two elements", fieldsOf([3]string{"hooks[a].service", "x", "y"}, [3]string{"hooks[b].service", "x", "y"},
			[3]string{"z", "x", "y"}), nil},
		{"other lists", fieldsOf([3]string{"a[0].s", "x", "y"}, [3]string{"b[0].s", "x", "y"}, [3]string{"c[0].s", "x", "y"}),
			nil},
		{"containers", fieldsOf([3]string{"c[a].env[X].value", "x", "y"}, [3]string{"c[b].env[X].value", "x", "y"},
			[3]string{"c[d].env[X].value", "x", "y"}), map[int32]string{0: "(the same in c[b] and c[d])"}},
		{"two selectors", fieldsOf([3]string{"a[0].b[0]", "x", "y"}, [3]string{"a[1].b[1]", "x", "y"},
			[3]string{"a[2].b[2]", "x", "y"}), nil},
	} {
		stay, words := test.c.WithoutRepeats(all(test.c))
		if d := cmp.Diff(test.want, words); d != "" {
			t.Errorf("%s: -want +got:\n%s", test.why, d)
		}
		if len(stay) == len(test.c.Fields) && test.want != nil {
			t.Errorf("%s: %d fields stay", test.why, len(stay))
		}
	}
}

// TestOutlineLosesNothing reads the paths and values of fields back from the printed
// headings, the rest of each path, and the places that repeat another field.
func TestOutlineLosesNothing(t *testing.T) {
	step := rapid.SampledFrom([]string{"spec", "tags", "tags_all", "a[x]", "a[y]", "a[z]", `a["q].r"]`, "b[0]",
		"b[1]", "image"})
	value := rapid.SampledFrom([]string{"1", "2"})
	rapid.Check(t, func(t *rapid.T) {
		c := &diff.Change{Action: diff.Update}
		seen := map[string]bool{}
		for range rapid.IntRange(0, 30).Draw(t, "fields") {
			path := strings.Join(rapid.SliceOfN(step, 1, 4).Draw(t, "path"), ".")
			if !seen[path] {
				c.Fields = append(c.Fields, fieldsOf([3]string{path, value.Draw(t, "before"), value.Draw(t, "after")}).Fields...)
			}
			seen[path] = true
		}
		want, got := map[string]string{}, map[string]string{}
		for _, f := range c.Fields {
			want[f.Path] = f.Before.Text + f.After.Text
		}
		stay, words := c.WithoutRepeats(all(c))
		above := []string{""}
		for _, row := range c.Outline(nil, stay) {
			f := &c.Fields[row.Field]
			above = above[:row.Depth+1]
			prefix := above[row.Depth]
			if len(prefix) != int(row.Skip) {
				t.Fatalf("%s: the headings say %q, and %d bytes are left out", f.Path, prefix, row.Skip)
			}
			if row.Heading {
				above = append(above, prefix+f.Path[row.Skip:row.End])
				continue
			}
			path := prefix + f.Path[row.Skip:]
			got[path] = f.Before.Text + f.After.Text
			for _, other := range places(words[row.Field]) {
				got[elsewhere(path, other, want)] = f.Before.Text + f.After.Text
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("-fields +outline:\n%s\n%v", d, words)
		}
	})
}

// places returns the places of a text such as "(the same in [a], [b] and [c])".
func places(words string) []string {
	list := strings.TrimSuffix(strings.TrimPrefix(words, "(the same in "), ")")
	if list == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(list, " and ", ", "), ", ")
}

// elsewhere returns a path with another attribute, or with another element in
// the only position where the result is the path of a field.
func elsewhere(path, other string, fields map[string]string) string {
	if other == "tags_all" {
		return "tags_all" + strings.TrimPrefix(path, "tags")
	}
	list, _, _ := strings.Cut(other, "[")
	other = strings.TrimPrefix(other, list)
	for _, old := range []string{"[x]", "[y]", "[z]", `["q].r"]`, "[0]", "[1]"} {
		for at := range path {
			if strings.HasPrefix(path[at:], old) && strings.HasSuffix(path[:at], list) {
				if p := path[:at] + other + path[at+len(old):]; old != other && fields[p] == fields[path] && fields[p] != "" {
					return p
				}
			}
		}
	}
	return fmt.Sprintf("no field at %s of %s", other, path)
}
