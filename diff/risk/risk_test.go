package risk_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// situation is one element of testdata/*.yaml.
type situation struct {
	Name, Kind, Group string
	Action, Becomes   diff.Action
	Before, After     json.RawMessage
	Unknown, Revealed []string
	Regenerated       bool
	Programs          []string
	Fires, Spares     []string
}

func situations(t *testing.T, engine string) []situation {
	t.Helper()
	data, err := os.ReadFile("testdata/" + engine + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []situation
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// change builds the change and the subject of a situation, with its fields as deep as possible, or
// as few as possible.
func (s situation) change(t *testing.T, engine string, deep bool) (*diff.Change, risk.Subject) {
	t.Helper()
	value := func(text json.RawMessage) raw.Value {
		if len(text) == 0 {
			return raw.Value{}
		}
		v, err := diff.ParseRaw(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	subject := risk.Subject{Engine: engine, Group: s.Group, Kind: s.Kind, Before: value(s.Before), After: value(s.After),
		Regenerated: s.Regenerated, Programs: s.Programs}
	if len(s.Unknown) > 0 {
		marks := map[string]any{}
		for _, path := range s.Unknown {
			marks[path] = true
		}
		subject.Unknown = raw.Of(marks)
	}
	c := &diff.Change{Address: "a", Action: s.Action}
	if c.Action == "" {
		switch {
		case s.Before == nil:
			c.Action = diff.Create
		case s.After == nil:
			c.Action = diff.Destroy
		default:
			c.Action = diff.Update
		}
	}
	c.Risk = c.Action.Risk()
	w := &walker{unknown: s.Unknown, revealed: s.Revealed, deep: deep}
	w.walk(nil, risk.Difference{Before: subject.Before, After: subject.After, HasBefore: s.Before != nil,
		HasAfter: s.After != nil})
	c.Fields, subject.Differences = w.fields, w.touched
	return c, subject
}

// walker lists differences. It matches lists of named objects by name, others by index.
type walker struct {
	unknown  []string
	revealed []string
	deep     bool
	fields   []diff.FieldChange
	touched  []risk.Difference
}

func (w *walker) walk(p tree.Path, t risk.Difference) {
	text := p.Text(tree.Step.Plain)
	unknown := slices.Contains(w.unknown, text)
	if t.HasBefore == t.HasAfter && t.Before.Equal(t.After) && !unknown {
		return
	}
	lone := t.HasBefore != t.HasAfter && len(p) > 0
	keys, get := children(t.Before, t.After)
	if unknown || len(keys) == 0 || lone && !w.deep {
		t.Path, t.Revealed = p, slices.Contains(w.revealed, text)
		w.fields = append(w.fields, diff.FieldChange{Path: text, After: diff.ShownValue{Unknown: unknown}})
		w.touched = append(w.touched, t)
		return
	}
	for _, k := range keys {
		before, hasBefore := get(t.Before, k)
		after, hasAfter := get(t.After, k)
		w.walk(append(p[:len(p):len(p)], &k), risk.Difference{Before: before, After: after, HasBefore: hasBefore,
			HasAfter: hasAfter})
	}
}

func children(a, b raw.Value) ([]tree.Step, func(raw.Value, tree.Step) (raw.Value, bool)) {
	var steps []tree.Step
	seen := map[string]bool{}
	for _, v := range []raw.Value{a, b} {
		for _, k := range v.Keys() {
			if !seen[k] {
				seen[k] = true
				steps = append(steps, tree.Step{Key: k})
			}
		}
		for i := range v.Len() {
			s := tree.Step{Index: i, IsIndex: true}
			if name, ok := v.At(i).Get("name"); ok {
				n, _ := raw.Text(name)
				s = tree.Selected(n, []string{"name"}, tree.Both)
			}
			if id := (tree.Path{&s}).Pointer(tree.Step.Plain); !seen[id] {
				seen[id] = true
				steps = append(steps, s)
			}
		}
	}
	return steps, child
}

func child(v raw.Value, s tree.Step) (raw.Value, bool) {
	switch {
	case s.IsSelect:
		for i := range v.Len() {
			if name, _ := v.At(i).Get("name"); !name.IsNull() {
				if n, _ := raw.Text(name); n == s.Select {
					return v.At(i), true
				}
			}
		}
		return raw.Value{}, false
	case s.IsIndex:
		return v.At(s.Index), s.Index < v.Len()
	}
	return v.Get(s.Key)
}

// TestSituations checks that every rule finds its situations and none of the similar ones.
func TestSituations(t *testing.T) {
	fired, spared := map[string]bool{}, map[string]bool{}
	for _, engine := range []string{diff.KindKubernetes, diff.KindTerraform} {
		for _, s := range situations(t, engine) {
			for _, deep := range []bool{true, false} {
				c, subject := s.change(t, engine, deep)
				was := c.Action
				risk.Judge(c, subject)
				checkSituation(t, s, c, deep)
				if s.Becomes == "" && c.Action != was {
					t.Errorf("%s: it becomes %s", s.Name, c.Action)
				}
			}
			for _, r := range s.Fires {
				fired[r] = true
			}
			for _, r := range s.Spares {
				// A near miss only counts if the rule applies to the kind.
				if !fits(t, r, s, engine) {
					t.Errorf("%s: rule %q does not look at %s", s.Name, r, s.Kind)
				}
				spared[r] = true
			}
		}
	}
	for _, r := range risk.Rules() {
		if risk.Tabled(r) {
			// TestEveryAttribute has examples of it.
			continue
		}
		if !fired[r.Name] || !spared[r.Name] {
			t.Errorf("%s needs a situation in which it fires (has one: %t) and one that it spares (%t)", r.Name, fired[r.Name],
				spared[r.Name])
		}
	}
}

func checkSituation(t *testing.T, s situation, c *diff.Change, deep bool) {
	t.Helper()
	var found []string
	for _, f := range c.Findings {
		found = append(found, f.Rule)
	}
	for _, r := range s.Fires {
		if !slices.Contains(found, r) {
			t.Errorf("%s (deep %t): %s finds nothing; found %v", s.Name, deep, r, found)
		}
	}
	for _, r := range s.Spares {
		if slices.Contains(found, r) {
			t.Errorf("%s (deep %t): %s finds something", s.Name, deep, r)
		}
	}
	if s.Becomes == diff.Replace {
		forces := slices.ContainsFunc(c.Fields, func(f diff.FieldChange) bool { return f.ForcesReplace })
		if c.Action != diff.Replace || c.Order == "" || c.Risk != diff.RiskDestroy || c.Why == "" || !forces {
			t.Errorf("%s: not a replacement: %s, %q, %s, why %q, a field forces it: %t", s.Name, c.Action, c.Order, c.Risk,
				c.Why, forces)
		}
	}
}

func fits(t *testing.T, name string, s situation, engine string) bool {
	t.Helper()
	kind := s.Kind
	if s.Group != "" {
		kind += "." + s.Group
	}
	for _, r := range risk.Rules() {
		if r.Name == name {
			return r.Engine == engine && r.Fits(kind)
		}
	}
	t.Errorf("there is no rule %q", name)
	return false
}

func TestRulesAreWhole(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, r := range risk.Rules() {
		if !kebab.MatchString(r.Name) || seen[r.Name] {
			t.Errorf("%q is not a name, or not the only one", r.Name)
		}
		seen[r.Name] = true
		if !strings.HasPrefix(r.Source, "https://") || strings.ContainsAny(r.Source, " \"<>|") {
			t.Errorf("%s: source %q", r.Name, r.Source)
		}
		if n := len(r.Message); n < 20 || n > 160 || strings.HasSuffix(r.Message, ".") ||
			strings.ToLower(r.Message[:1]) != r.Message[:1] {
			t.Errorf("%s: words %q", r.Name, r.Message)
		}
		if len(r.Kinds) == 0 || len(r.Actions) == 0 || r.Risk == diff.RiskNone || r.Engine == "" {
			t.Errorf("%s is not whole: %+v", r.Name, r)
		}
		if r.Replaces && (r.Risk != diff.RiskDestroy || !slices.Equal(r.Actions, []diff.Action{diff.Update})) {
			t.Errorf("%s replaces, so it must be about updates that destroy", r.Name)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d rules", len(seen))
	}
}
