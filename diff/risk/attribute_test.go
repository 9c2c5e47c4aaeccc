package risk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// listed reads testdata/attributes.txt and returns the attributes by resource type.
func listed(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/attributes.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		kind, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "" || kind == "#" {
			continue
		}
		if out[kind] == nil {
			out[kind] = []string{}
		}
		if path != "" {
			out[kind] = append(out[kind], path)
		}
	}
	return out
}

// clouds lists the prefixes of the providers that the list covers.
var clouds = []string{"aws_", "google_", "azurerm_"}

// TestAttributesAreReal checks that every resource type and attribute that a rule names exists.
func TestAttributesAreReal(t *testing.T) {
	list := listed(t)
	if dir := os.Getenv("NUON_CLOUD_SCHEMAS"); dir != "" {
		compareWithSchemas(t, dir)
	}
	for _, r := range ruleSet(diff.KindTerraform).all {
		paths := slices.DeleteFunc(slices.Concat(r.Paths, r.judged), func(p string) bool { return p == "**" })
		found := map[string]bool{}
		for kind, has := range list {
			if !r.Fits(kind) {
				continue
			}
			some := len(paths) == 0
			for _, p := range paths {
				if slices.Contains(has, p) {
					found[p], some = true, true
				}
			}
			if !some && slices.Contains(r.Kinds, kind) {
				t.Errorf("%s: %s has none of %v", r.Name, kind, paths)
			}
		}
		for _, p := range paths {
			if !found[p] {
				t.Errorf("%s: no resource type of the rule has %s", r.Name, p)
			}
		}
		for _, kind := range r.Kinds {
			ofCloud := slices.ContainsFunc(clouds, func(c string) bool { return strings.HasPrefix(kind, c) })
			if ofCloud && !strings.Contains(kind, "*") && list[kind] == nil {
				t.Errorf("%s: there is no resource type %s", r.Name, kind)
			}
		}
	}
}

// compareWithSchemas compares the list with the provider schemas in a directory.
func compareWithSchemas(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas in ", dir, err)
	}
	known := map[string]map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Resources map[string]struct{ Block schemaBlock } `json:"resource_schemas"`
		}
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(f, err)
		}
		for kind, resource := range s.Resources {
			if known[kind] == nil {
				known[kind] = map[string]bool{}
			}
			resource.Block.add("", known[kind])
		}
	}
	checked := 0
	for kind, paths := range listed(t) {
		for _, p := range paths {
			if known[kind] == nil {
				continue
			}
			checked++
			if !known[kind][p] && !strings.HasPrefix(p, "enable_https") {
				t.Errorf("%s has no %s", kind, p)
			}
		}
	}
	if checked == 0 {
		t.Error("the schemas have none of the listed types")
	}
}

// schemaBlock is the part of a provider's schema that names attributes.
type schemaBlock struct {
	Attributes map[string]struct {
		Type   json.RawMessage
		Nested *schemaBlock `json:"nested_type"`
	}
	Blocks map[string]struct{ Block schemaBlock } `json:"block_types"`
}

func (b schemaBlock) add(prefix string, to map[string]bool) {
	for name, a := range b.Attributes {
		to[prefix+name] = true
		if a.Nested != nil {
			a.Nested.add(prefix+name+"[*].", to)
		}
		// An attribute that is really a block has a type of the form ["set", ["object", {…}]].
		var list, object []json.RawMessage
		var fields map[string]json.RawMessage
		if json.Unmarshal(a.Type, &list) == nil && len(list) == 2 && json.Unmarshal(list[1], &object) == nil &&
			len(object) == 2 &&
			json.Unmarshal(object[1], &fields) == nil {
			for field := range fields {
				to[prefix+name+"[*]."+field] = true
			}
		}
	}
	for name, inner := range b.Blocks {
		to[prefix+name] = true
		inner.Block.add(prefix+name+"[*].", to)
	}
}

// TestEveryAttribute checks that each rule finds the change from strong to weak of each of its
// attributes, in each resource type that has it, and not the change back. A rule that also judges
// new objects must find the weak value in one.
func TestEveryAttribute(t *testing.T) {
	list := listed(t)
	for _, r := range Rules() {
		if r.attribute.finds == nil && r.attribute.object == nil {
			continue
		}
		for _, kind := range r.Kinds {
			paths := slices.DeleteFunc(slices.Clone(r.Paths), func(p string) bool { return !slices.Contains(list[kind], p) })
			if r.attribute.object != nil || len(paths) == 0 {
				paths = []string{""}
			}
			if r.attribute.kind != "" && r.attribute.kind != kind {
				continue
			}
			for _, p := range paths {
				strong, weak := exampleAt(t, p, r.attribute.strong), exampleAt(t, p, r.attribute.weak)
				checkExample(t, r, kind+" "+p, kind, strong, weak)
			}
		}
	}
}

func checkExample(t *testing.T, r Rule, name, kind string, strong, weak raw.Value) {
	t.Helper()
	switch {
	case slices.Contains(r.Actions, diff.Update):
		if !finds(r, kind, diff.Update, strong, weak) {
			t.Errorf("%s %s: strong to weak is not found", r.Name, name)
		}
		if !r.attribute.unknowns && finds(r, kind, diff.Update, weak, strong) {
			t.Errorf("%s %s: weak to strong is found", r.Name, name)
		}
	case slices.Contains(r.Actions, diff.Destroy):
		if !finds(r, kind, diff.Destroy, strong, raw.Value{}) || finds(r, kind, diff.Create, raw.Value{}, strong) {
			t.Errorf("%s %s: not found when it is destroyed, or found when it is created", r.Name, name)
		}
	}
	if slices.Contains(r.Actions, diff.Create) {
		if !finds(r, kind, diff.Create, raw.Value{}, weak) {
			t.Errorf("%s %s: a new weak object is not found", r.Name, name)
		}
		if finds(r, kind, diff.Destroy, weak, raw.Value{}) && !slices.Contains(r.Actions, diff.Destroy) {
			t.Errorf("%s %s: found when it is destroyed", r.Name, name)
		}
	}
}

// finds reports whether the rule has a finding for a change whose only field is the whole object.
func finds(r Rule, kind string, action diff.Action, before, after raw.Value) bool {
	c := &diff.Change{Address: "a", Action: action, Fields: []diff.FieldChange{{Path: "x"}}}
	Judge(c, Subject{Engine: diff.KindTerraform, Kind: kind, Before: before, After: after, Differences: []Difference{
		{Path: tree.Path{}, Before: before, After: after, HasBefore: !before.IsNull(), HasAfter: !after.IsNull()},
	}})
	return slices.ContainsFunc(c.Findings, func(f diff.Finding) bool { return f.Rule == r.Name })
}

// exampleAt places a JSON value at a path. Each block on the path becomes a list of one element.
func exampleAt(t *testing.T, path, value string) raw.Value {
	t.Helper()
	p := parsePattern(path)
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == anyElement {
			value = "[" + value + "]"
		} else {
			value = fmt.Sprintf("{%q: %s}", p[i], value)
		}
	}
	v, err := raw.Parse([]byte(value))
	if err != nil {
		t.Fatal(path, value, err)
	}
	return v
}

// TestWide checks that ranges that reach everyone count as wide however they are split, and that a
// company's ranges do not.
func TestWide(t *testing.T) {
	for _, c := range []struct {
		want   bool
		ranges string
	}{
		{true, "0.0.0.0/0"},
		{true, "::/0"},
		{true, "*"},
		{true, "0.0.0.0/1 128.0.0.0/1"},
		{true, "128.0.0.0/1"},
		{true, "2000::/3"},
		{true, "::/1 8000::/1"},
		{true, "0.0.0.0/5 11.0.0.0/8 16.0.0.0/6 24.0.0.0/5"},
		{false, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"},
		{false, "10.0.0.0/8 10.0.0.0/8 10.1.0.0/16"},
		{false, "fd00::/8"},
		{false, "2a00:1450::/32 sg-1 pl-2"},
		{false, ""},
	} {
		if coversInternet(strings.Fields(c.ranges)) != c.want {
			t.Errorf("%s: wide is not %t", c.ranges, c.want)
		}
	}
}

func TestVersionsOfTLS(t *testing.T) {
	for name, want := range map[string]int{
		"ELBSecurityPolicy-TLS13-1-2-2021-06": 2, "ELBSecurityPolicy-TLS13-1-3-2021-06": 3,
		"ELBSecurityPolicy-TLS13-1-0-2021-06":   0,
		"ELBSecurityPolicy-TLS-1-2-Ext-2018-06": 2, "ELBSecurityPolicy-FS-1-1-2019-08": 1, "ELBSecurityPolicy-2016-08": 0,
		"ELBSecurityPolicy-FS-2018-06": 0, "TLSv1.2_2021": 2, "TLSv1_2016": 0, "TLSv1": 0, "SSLv3": -1, "TLS1_2": 2,
		"TLS1_0": 0, "1.2": 2,
		"TLS_1_1": 1, "Policy-Min-TLS-1-0-2019-07": 0, "Policy-Min-TLS-1-2-PFS-2023-10": 2, "": unknownTLS,
		"Disabled": unknownTLS, "Tls12": unknownTLS,
	} {
		if got := tlsVersion(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
