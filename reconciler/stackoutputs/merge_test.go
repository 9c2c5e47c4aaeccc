package stackoutputs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
)

// values converts pairs of NAME=JSON.
func values(pairs ...string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		all[name] = json.RawMessage(value)
	}
	return all
}

// lines describes outputs, one line for each.
func lines(o stackoutputs.Outputs) map[string]string {
	all := map[string]string{}
	for name, v := range o {
		all[name] = fmt.Sprintf("%s %s", v.Source, v.Value)
		if v.Reported != nil {
			all[name] += " over " + string(v.Reported)
		}
	}
	return all
}

func merge(t *testing.T, current stackoutputs.Outputs, c stackoutputs.Change) stackoutputs.Merged {
	t.Helper()
	m, err := stackoutputs.Merge(current, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func byHand(pairs ...string) stackoutputs.Change {
	return stackoutputs.Change{Source: stackoutputs.Manual, Set: values(pairs...)}
}

func byStack(pairs ...string) stackoutputs.Change {
	return stackoutputs.Change{Source: stackoutputs.PhoneHome, Set: values(pairs...)}
}

func unset(names ...string) stackoutputs.Change {
	return stackoutputs.Change{Source: stackoutputs.Manual, Unset: names}
}

func TestMerge(t *testing.T) {
	for name, test := range map[string]struct {
		changes []stackoutputs.Change
		want    map[string]string
		changed []string // by the last change
		moves   []string
		kept    []string
	}{
		"set by hand": {[]stackoutputs.Change{byHand(`a="1"`)}, map[string]string{"a": `manual "1"`}, []string{"a"},
			[]string{"a"}, nil},
		"the others stay": {[]stackoutputs.Change{byHand(`a="1"`, `b="1"`), byHand(`b="2"`, "c=3")},
			map[string]string{"a": `manual "1"`, "b": `manual "2"`, "c": "manual 3"}, []string{"b", "c"},
			[]string{"b", "c"}, nil},
		"the same again, written otherwise": {[]stackoutputs.Change{byHand(`a={"x":1,"y":2}`),
			byHand(`a={ "y": 2, "x": 1 }`)},
			map[string]string{"a": `manual { "y": 2, "x": 1 }`}, nil, nil, nil},
		"unset": {[]stackoutputs.Change{byHand(`a="1"`, `b="1"`), unset("b", "c")},
			map[string]string{"a": `manual "1"`}, []string{"b"}, []string{"b"}, nil},
		"reported": {[]stackoutputs.Change{byStack(`a="1"`)}, map[string]string{"a": `phone_home "1"`}, []string{"a"},
			[]string{"a"}, nil},
		"reported again": {[]stackoutputs.Change{byStack(`a="1"`, `b="1"`), byStack(`b="2"`, `c="3"`)},
			map[string]string{"b": `phone_home "2"`, "c": `phone_home "3"`}, []string{"a", "b", "c"},
			[]string{"a", "b", "c"}, nil},
		"a report does not overwrite a person's value": {[]stackoutputs.Change{byHand(`a="hand"`), byStack(`a="1"`, `b="1"`)},
			map[string]string{"a": `manual "hand" over "1"`, "b": `phone_home "1"`}, []string{"a", "b"}, []string{"b"},
			[]string{"a"}},
		"nor does the next": {[]stackoutputs.Change{byHand(`a="hand"`), byStack(`a="1"`), byStack(`a="2"`)},
			map[string]string{"a": `manual "hand" over "2"`}, []string{"a"}, nil, []string{"a"}},
		"a report that agrees": {[]stackoutputs.Change{byHand(`a="1"`), byStack(`a="1"`)},
			map[string]string{"a": `manual "1"`}, nil, nil, nil},
		"a report without it": {[]stackoutputs.Change{byHand(`a="hand"`), byStack(`a="1"`), byStack()},
			map[string]string{"a": `manual "hand"`}, []string{"a"}, nil, nil},
		"set by hand over a report": {[]stackoutputs.Change{byStack(`a="1"`), byHand(`a="hand"`)},
			map[string]string{"a": `manual "hand" over "1"`}, []string{"a"}, []string{"a"}, []string{"a"}},
		"set by hand to what was reported": {[]stackoutputs.Change{byStack(`a="1"`), byHand(`a="1"`)},
			map[string]string{"a": `manual "1"`}, []string{"a"}, nil, nil},
		"unset over a report": {[]stackoutputs.Change{byHand(`a="hand"`), byStack(`a="1"`), unset("a")},
			map[string]string{"a": `phone_home "1"`}, []string{"a"}, []string{"a"}, nil},
		"nothing": {[]stackoutputs.Change{byHand()}, map[string]string{}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var m stackoutputs.Merged
			for _, c := range test.changes {
				before := lines(m.Outputs)
				was := m.Outputs
				m = merge(t, m.Outputs, c)
				if diff := cmp.Diff(before, lines(was)); diff != "" {
					t.Errorf("the outputs before were changed:\n%s", diff)
				}
			}
			var moves []string
			for _, move := range m.Moves {
				moves = append(moves, move.Name)
			}
			for _, pair := range [][2]any{{test.want, lines(m.Outputs)}, {test.changed, m.Changed}, {test.moves, moves},
				{test.kept, m.Kept}} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestAPersonsValueStays checks, for any sequence of changes, that a report changes no value that a person set,
// and that it names each that it would have changed.
func TestAPersonsValueStays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		current := stackoutputs.Outputs{}
		value := rapid.Custom(func(r *rapid.T) json.RawMessage {
			return json.RawMessage(rapid.SampledFrom([]string{`"1"`, `"2"`, `[1]`, `{"a": 1}`}).Draw(r, "value"))
		})
		for range rapid.IntRange(1, 8).Draw(r, "changes") {
			c := stackoutputs.Change{Source: rapid.SampledFrom([]stackoutputs.Source{stackoutputs.Manual,
				stackoutputs.PhoneHome}).Draw(r, "source")}
			c.Set = rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), value).Draw(r, "set")
			if c.Source == stackoutputs.Manual {
				for _, name := range rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c"})).Draw(r, "unset") {
					if _, both := c.Set[name]; !both {
						c.Unset = append(c.Unset, name)
					}
				}
			}
			before := maps.Clone(current)
			m, err := stackoutputs.Merge(current, c)
			if err != nil {
				r.Fatal(err)
			}
			for name, was := range before {
				is, has := m.Outputs[name]
				if c.Source != stackoutputs.PhoneHome || was.Source != stackoutputs.Manual {
					continue
				}
				if !has || string(is.Value) != string(was.Value) || is.Source != stackoutputs.Manual {
					r.Fatalf("a report changed %s from %s to %s", name, was.Value, is.Value)
				}
				if now := c.Set[name]; now != nil && string(now) != string(was.Value) != contains(m.Kept, name) {
					r.Fatalf("the report of %s=%s over %s is not named in %v", name, now, was.Value, m.Kept)
				}
			}
			current = m.Outputs
		}
	})
}

func contains(all []string, name string) bool {
	for _, n := range all {
		if n == name {
			return true
		}
	}
	return false
}
