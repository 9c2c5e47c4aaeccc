package format

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// The rules that Decode finds broken; a format of Key.Format is a rule by its own name.
const (
	RuleUnknownKey = "unknown-key"
	RuleMissingKey = "missing-key"
	RuleWrongType  = "wrong-type"
	RuleWrongValue = "wrong-value"
	RuleStrayKey   = "stray-key"
	RuleGoneKey    = "gone-key"
	RuleOldName    = "old-name"
	RuleIdle       = "idle"
)

// mostSaid bounds what is said of one file. What comes after is decoded, but not told.
const mostSaid = 1100

// Decode fills a struct of this package from a table. keys are those of the struct's type.
//
// It says everything that is wrong with the keys and their values, each at its place, and in one warning which keys have no effect yet.
// What is wrong stays zero in the struct; what is left out gets its default. Keys with an older name get the current one in the table,
// too, so that their places are found by it.
func Decode(t *syntax.Table, keys []Key, into any, say func(diagnostic.Diagnostic)) {
	d := &decoder{say: say, keys: keys}
	d.table(t, keys, reflect.ValueOf(into).Elem(), nil)
	d.sayIdle()
}

// decoder is one run of Decode.
type decoder struct {
	say  func(diagnostic.Diagnostic)
	said int
	keys []Key // of the whole file

	idle      []string // keys without effect
	firstIdle syntax.Position
	working   int // how many keys without effect are above the one at hand
}

// frame is where in a file a value is: its key or number, and the frame above it. Paths are only put together when they are needed.
type frame struct {
	up   *frame
	name string // empty for an element
	item int
}

// label is the path for people.
func (f *frame) label() string {
	switch {
	case f == nil:
		return ""
	case f.name == "":
		return syntax.Item(f.up.label(), f.item)
	case f.up == nil:
		return f.name
	}
	return f.up.label() + "." + f.name
}

// path is the path as Table.Find takes it.
func (f *frame) path() string {
	switch {
	case f == nil:
		return ""
	case f.name == "":
		return syntax.Item(f.up.path(), f.item)
	}
	return syntax.Join(f.up.path(), f.name)
}

func (d *decoder) full() bool { return d.said >= mostSaid }

func (d *decoder) tell(severity diagnostic.Severity, rule string, at syntax.Position, hint, message string, args ...any) {
	if d.said++; d.said > mostSaid {
		return
	}
	d.say(diagnostic.Diagnostic{
		File: at.File, Line: at.Line, Column: at.Column, Width: at.Width,
		Severity: severity, Rule: rule, Message: fmt.Sprintf(message, args...), Hint: hint,
	})
}

func (d *decoder) errorf(rule string, at syntax.Position, hint, message string, args ...any) {
	d.tell(diagnostic.Error, rule, at, hint, message, args...)
}

func (d *decoder) warnf(rule string, at syntax.Position, hint, message string, args ...any) {
	d.tell(diagnostic.Warning, rule, at, hint, message, args...)
}

// table decodes the keys of a table into a struct.
func (d *decoder) table(t *syntax.Table, keys []Key, v reflect.Value, in *frame) {
	d.rename(t, keys, in)
	d.mend(t, keys, in)
	for name, n := range t.Each {
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name }); i >= 0 {
			d.key(n, &keys[i], v, &frame{up: in, name: name})
		}
	}
	for i := range keys {
		k := &keys[i]
		n := t.Get(k.Name)
		if k.Required && n == nil {
			d.errorf(RuleMissingKey, t.At, forExample(k), "%q is missing", (&frame{up: in, name: k.Name}).label())
		}
		if k.Default != "" {
			fill(v.FieldByIndex(k.Index), k, n)
		}
	}
}

// rename gives keys with an older name the current one.
func (d *decoder) rename(t *syntax.Table, keys []Key, in *frame) {
	for i := range keys {
		for _, old := range keys[i].OldNames {
			n := t.Get(old)
			if n == nil {
				continue
			}
			name := keys[i].Name
			if t.Get(name) != nil {
				d.warnf(RuleOldName, n.Key, "remove it", "%q is the older name of %q, which is there too", (&frame{up: in, name: old}).label(), name)
			} else {
				d.warnf(RuleOldName, n.Key, "write "+name, "%q is the older name of %q", (&frame{up: in, name: old}).label(), name)
			}
			t.Rename(old, name)
		}
	}
}

// mend tells of unknown keys, and reads one that is misspelled as the key that was meant: that it is missing would be told on top.
func (d *decoder) mend(t *syntax.Table, keys []Key, in *frame) {
	meant := map[string]string{}
	for name, n := range t.Each {
		if known := slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name }); known || d.full() {
			continue
		}
		if near := d.unknown(n, keys, &frame{up: in, name: name}); near != "" {
			meant[near] = name
		}
	}
	for near, name := range meant {
		if t.Get(near) == nil {
			t.Rename(name, near)
		}
	}
}

// unknown tells of an unknown key, and gives the one that it is probably a misspelling of.
func (d *decoder) unknown(n *syntax.Node, keys []Key, at *frame) (near string) {
	names := make([]string, 0, len(keys))
	for i := range keys {
		if !keys[i].Gone && !keys[i].Stray {
			names = append(names, keys[i].Name)
		}
	}
	hint := elsewhere(at, keys, d.keys)
	if hint == "" {
		near, _ = diagnostic.Nearest(at.name, names)
		hint = diagnostic.DidYouMean(at.name, names)
	}
	if hint == "" {
		slices.Sort(names)
		hint = "known here: " + strings.Join(names, ", ")
	}
	d.errorf(RuleUnknownKey, n.Key, hint, "unknown key %q", at.label())
	return near
}

// elsewhere is the hint for a key that the format has, but in another place: below a table that is known here, at the top of the file, or
// in another kind of component.
func elsewhere(at *frame, keys, top []Key) string {
	for i := range keys {
		if k := &keys[i]; has(k.Keys, at.name) && !common(at.name) {
			return "write it below " + heading(k)
		}
	}
	if at.up != nil {
		if has(top, at.name) && !common(at.name) {
			return "write it at the top of the file"
		}
		return ""
	}
	if !has(keys, "max_auto_retries") {
		return ""
	}
	var kinds []string
	for _, kind := range Kinds() {
		if kind.Component != "" && has(kind.Keys(), at.name) {
			kinds = append(kinds, kind.Component)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return "it is a key of " + strings.Join(kinds, ", ") + " components"
}

// common says that a key is found in so many places that the one in which it is known says nothing.
func common(name string) bool { return name == "name" || name == "type" || name == "description" }

func has(keys []Key, name string) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name && !k.Stray && !k.Gone })
}

// heading is how a table is begun.
func heading(k *Key) string {
	if k.Type == Tables {
		return "[[" + k.Path + "]]"
	}
	return "[" + k.Path + "]"
}

// forExample is the hint for a missing key whose value is one text that can be pasted as it is: no name, and no words for people.
func forExample(k *Key) string {
	switch {
	case k.Type != String, k.Name == "name", k.Name == "group", strings.HasSuffix(k.Name, "_name"), strings.Contains(k.Example, " "):
		return ""
	case k.Example != "":
		return "write " + k.Name + " = " + strconv.Quote(k.Example)
	case len(k.Values) > 0 && k.Values[0] != "":
		return "write " + k.Name + " = " + strconv.Quote(k.Values[0])
	}
	return ""
}

// key decodes one key.
func (d *decoder) key(n *syntax.Node, k *Key, v reflect.Value, at *frame) {
	switch {
	case k.Stray:
		d.warnf(RuleStrayKey, n.Key, k.Hint, "%q is not a key of the format and has no effect", at.label())
		return
	case k.Gone:
		d.errorf(RuleGoneKey, n.Key, k.Hint, "%q is not accepted any more", at.label())
		return
	case k.Idle:
		if d.working == 0 {
			d.addIdle(n.Key, at)
		}
		d.working++
		defer func() { d.working-- }()
	}
	d.value(n, k, v.FieldByIndex(k.Index), at)
}

func (d *decoder) addIdle(place syntax.Position, at *frame) {
	if len(d.idle) == 0 {
		d.firstIdle = place
	}
	if len(d.idle) < mostSaid {
		d.idle = append(d.idle, listIndex().ReplaceAllString(at.label(), "[]"))
	}
}

// listIndex is the place of an element in a path.
var listIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]+\]`) })

// sayIdle is the one warning of a file about keys that have no effect yet. Those of several elements of a list are named once.
func (d *decoder) sayIdle() {
	if len(d.idle) == 0 {
		return
	}
	slices.Sort(d.idle)
	d.warnf(RuleIdle, d.firstIdle, "", "accepted, no effect yet: %s", strings.Join(slices.Compact(d.idle), ", "))
}
