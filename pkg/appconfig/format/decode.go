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
	RuleUnknownKey     = "unknown-key"
	RuleMissingKey     = "missing-key"
	RuleWrongType      = "wrong-type"
	RuleWrongValue     = "wrong-value"
	RuleUnsupportedKey = "stray-key"
	RuleRemovedKey     = "gone-key"
	RuleOldName        = "old-name"
	RuleNoEffectYet    = "idle"
)

// maxReported bounds what is said of one file. What comes after is decoded, but not told.
const maxReported = 1100

// Decode fills a struct of this package from a table. keys are those of the struct's type.
//
// It says everything that is wrong with the keys and their values, each at its place, and in one warning which keys have no effect yet.
// What is wrong stays zero in the struct; what is left out gets its default. Keys with an older name get the current one in the table,
// too, so that their places are found by it.
func Decode(t *syntax.Table, keys []Key, into any, report func(diagnostic.Diagnostic)) {
	d := &decoder{report: report, keys: keys}
	d.table(t, keys, reflect.ValueOf(into).Elem(), nil)
	d.reportNoEffectYet()
}

// decoder is one run of Decode.
type decoder struct {
	report   func(diagnostic.Diagnostic)
	reported int
	keys     []Key // of the whole file

	noEffectYet   []string // keys without effect
	firstNoEffect syntax.Position
	effective     int // how many keys without effect are above the one at hand
}

// frame is where in a file a value is: its key or number, and the frame above it. Paths are only put together when they are needed.
type frame struct {
	parent *frame
	name   string // empty for an element
	index  int
}

// label is the path for people.
func (f *frame) label() string {
	switch {
	case f == nil:
		return ""
	case f.name == "":
		return syntax.JoinIndex(f.parent.label(), f.index)
	case f.parent == nil:
		return f.name
	}
	return f.parent.label() + "." + f.name
}

// path is the path as Table.Find takes it.
func (f *frame) path() string {
	switch {
	case f == nil:
		return ""
	case f.name == "":
		return syntax.JoinIndex(f.parent.path(), f.index)
	}
	return syntax.Join(f.parent.path(), f.name)
}

func (d *decoder) full() bool { return d.reported >= maxReported }

func (d *decoder) add(severity diagnostic.Severity, rule string, at syntax.Position, hint, message string, args ...any) {
	if d.reported++; d.reported > maxReported {
		return
	}
	d.report(diagnostic.Diagnostic{
		File: at.File, Line: at.Line, Column: at.Column, Width: at.Width,
		Severity: severity, Rule: rule, Message: fmt.Sprintf(message, args...), Hint: hint,
	})
}

func (d *decoder) errorf(rule string, at syntax.Position, hint, message string, args ...any) {
	d.add(diagnostic.Error, rule, at, hint, message, args...)
}

func (d *decoder) warnf(rule string, at syntax.Position, hint, message string, args ...any) {
	d.add(diagnostic.Warning, rule, at, hint, message, args...)
}

// table decodes the keys of a table into a struct.
func (d *decoder) table(t *syntax.Table, keys []Key, v reflect.Value, parent *frame) {
	d.renameOldKeys(t, keys, parent)
	d.checkUnknownKeys(t, keys, parent)
	for name, n := range t.Each {
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name }); i >= 0 {
			d.key(n, &keys[i], v, &frame{parent: parent, name: name})
		}
	}
	for i := range keys {
		k := &keys[i]
		n := t.Get(k.Name)
		if k.Required && n == nil {
			d.errorf(RuleMissingKey, t.At, exampleHint(k), "%q is missing", (&frame{parent: parent, name: k.Name}).label())
		}
		if k.Default != "" {
			setDefault(v.FieldByIndex(k.Index), k, n)
		}
	}
}

// renameOldKeys gives keys with an older name the current one.
func (d *decoder) renameOldKeys(t *syntax.Table, keys []Key, parent *frame) {
	for i := range keys {
		for _, old := range keys[i].OldNames {
			n := t.Get(old)
			if n == nil {
				continue
			}
			name := keys[i].Name
			if t.Get(name) != nil {
				d.warnf(RuleOldName, n.Key, "remove it", "%q is the older name of %q, which is there too", (&frame{parent: parent, name: old}).label(), name)
			} else {
				d.warnf(RuleOldName, n.Key, "write "+name, "%q is the older name of %q", (&frame{parent: parent, name: old}).label(), name)
			}
			t.Rename(old, name)
		}
	}
}

// checkUnknownKeys tells of unknown keys, and reads one that is misspelled as the key that was meant: that it is missing would be told on top.
func (d *decoder) checkUnknownKeys(t *syntax.Table, keys []Key, parent *frame) {
	intended := map[string]string{}
	for name, n := range t.Each {
		if known := slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name }); known || d.full() {
			continue
		}
		if near := d.reportUnknownKey(n, keys, &frame{parent: parent, name: name}); near != "" {
			intended[near] = name
		}
	}
	for near, name := range intended {
		if t.Get(near) == nil {
			t.Rename(name, near)
		}
	}
}

// reportUnknownKey tells of an unknown key, and gives the one that it is probably a misspelling of.
func (d *decoder) reportUnknownKey(n *syntax.Node, keys []Key, fr *frame) (near string) {
	names := make([]string, 0, len(keys))
	for i := range keys {
		if !keys[i].Removed && !keys[i].Unsupported {
			names = append(names, keys[i].Name)
		}
	}
	hint := otherPlaceHint(fr, keys, d.keys)
	if hint == "" {
		near, _ = diagnostic.Nearest(fr.name, names)
		hint = diagnostic.DidYouMean(fr.name, names)
	}
	if hint == "" {
		slices.Sort(names)
		hint = "known here: " + strings.Join(names, ", ")
	}
	d.errorf(RuleUnknownKey, n.Key, hint, "unknown key %q", fr.label())
	return near
}

// otherPlaceHint is the hint for a key that the format has, but in another place: below a table that is known here, at the top of the file, or
// in another kind of component.
func otherPlaceHint(fr *frame, keys, top []Key) string {
	for i := range keys {
		if k := &keys[i]; hasKey(k.Keys, fr.name) && !isCommon(fr.name) {
			return "write it below " + heading(k)
		}
	}
	if fr.parent != nil {
		if hasKey(top, fr.name) && !isCommon(fr.name) {
			return "write it at the top of the file"
		}
		return ""
	}
	if !hasKey(keys, "max_auto_retries") {
		return ""
	}
	var kinds []string
	for _, kind := range Kinds() {
		if kind.Component != "" && hasKey(kind.Keys(), fr.name) {
			kinds = append(kinds, kind.Component)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return "it is a key of " + strings.Join(kinds, ", ") + " components"
}

// isCommon says that a key is found in so many places that the one in which it is known says nothing.
func isCommon(name string) bool { return name == "name" || name == "type" || name == "description" }

func hasKey(keys []Key, name string) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name && !k.Unsupported && !k.Removed })
}

// heading is how a table is begun.
func heading(k *Key) string {
	if k.Type == Tables {
		return "[[" + k.Path + "]]"
	}
	return "[" + k.Path + "]"
}

// exampleHint is the hint for a missing key whose value is one text that can be pasted as it is: no name, and no words for people.
func exampleHint(k *Key) string {
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
func (d *decoder) key(n *syntax.Node, k *Key, v reflect.Value, fr *frame) {
	switch {
	case k.Unsupported:
		d.warnf(RuleUnsupportedKey, n.Key, k.Hint, "%q is not a key of the format and has no effect", fr.label())
		return
	case k.Removed:
		d.errorf(RuleRemovedKey, n.Key, k.Hint, "%q is not accepted any more", fr.label())
		return
	case k.NoEffectYet:
		if d.effective == 0 {
			d.addNoEffectYet(n.Key, fr)
		}
		d.effective++
		defer func() { d.effective-- }()
	}
	d.value(n, k, v.FieldByIndex(k.Index), fr)
}

func (d *decoder) addNoEffectYet(place syntax.Position, fr *frame) {
	if len(d.noEffectYet) == 0 {
		d.firstNoEffect = place
	}
	if len(d.noEffectYet) < maxReported {
		d.noEffectYet = append(d.noEffectYet, listIndex().ReplaceAllString(fr.label(), "[]"))
	}
}

// listIndex is the place of an element in a path.
var listIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]+\]`) })

// reportNoEffectYet is the one warning of a file about keys that have no effect yet. Those of several elements of a list are named once.
func (d *decoder) reportNoEffectYet() {
	if len(d.noEffectYet) == 0 {
		return
	}
	slices.Sort(d.noEffectYet)
	d.warnf(RuleNoEffectYet, d.firstNoEffect, "", "accepted, no effect yet: %s", strings.Join(slices.Compact(d.noEffectYet), ", "))
}
