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

// The rules that Decode reports. The name of each Key.Format is a rule too.
const (
	RuleUnknownKey     = "unknown-key"
	RuleMissingKey     = "missing-key"
	RuleWrongType      = "wrong-type"
	RuleWrongValue     = "wrong-value"
	RuleUnsupportedKey = "unsupported-key"
	RuleRemovedKey     = "removed-key"
	RuleOldName        = "old-name"
	RuleNoEffectYet    = "no-effect-yet"
)

// maxReported bounds the diagnostics of one file. Further problems are not reported.
const maxReported = 1100

// Decode fills a struct of this package from a table. keys are those of the struct's type.
//
// It reports every problem with the keys and their values at its position, and all keys that have no
// effect yet in one warning. An invalid value stays zero in the struct; a missing one gets its
// default. A key with an older name also gets the current name in the table, so that its position is
// found under that.
func Decode(t *syntax.Table, keys []Key, into any, report func(diagnostic.Diagnostic)) {
	d := &decoder{report: report, keys: keys}
	d.table(t, keys, reflect.ValueOf(into).Elem(), nil)
	d.reportNoEffectYet()
}

// decoder is one run of Decode.
type decoder struct {
	report   func(diagnostic.Diagnostic)
	reported int
	keys     []Key // the keys of the whole file

	noEffectYet   []string // labels of the keys that have no effect yet
	firstNoEffect syntax.Position
	guessed       map[*syntax.Node]bool // values of misspelled keys: a wrong type would be a second error for one mistake
	effective     int                   // the number of enclosing keys that have no effect yet
}

// frame is the position of a value in a file: its key or index, and the frame above it. Paths are
// built only when they are needed.
type frame struct {
	parent *frame
	name   string // empty for a list element
	index  int
}

// label returns the path for messages.
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

// path returns the path in the form of Table.Find.
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

func (d *decoder) add(
	severity diagnostic.Severity, rule string, at syntax.Position, hint, message string, args ...any,
) {
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

// renameOldKeys renames keys with an older name to the current one.
func (d *decoder) renameOldKeys(t *syntax.Table, keys []Key, parent *frame) {
	for i := range keys {
		for _, old := range keys[i].OldNames {
			n := t.Get(old)
			if n == nil {
				continue
			}
			name := keys[i].Name
			if t.Get(name) != nil {
				d.warnf(RuleOldName, n.Key, "remove it", "%q is the older name of %q, which is there too",
					(&frame{parent: parent, name: old}).label(), name)
			} else {
				d.warnf(RuleOldName, n.Key, "write "+name, "%q is the older name of %q",
					(&frame{parent: parent, name: old}).label(), name)
			}
			t.Rename(old, name)
		}
	}
}

// checkUnknownKeys reports unknown keys, and reads a misspelled key as the intended one, so that
// the intended key is not reported as missing too.
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
		if n := t.Get(name); t.Get(near) == nil {
			if d.guessed == nil {
				d.guessed = map[*syntax.Node]bool{}
			}
			d.guessed[n] = true
			t.Rename(name, near)
		}
	}
}

// reportUnknownKey reports an unknown key, and returns the key that was probably meant.
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

// otherPlaceHint returns the hint for a key that belongs elsewhere: below a table that is known
// here, at the top of the file, or in another kind of component.
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

// isCommon reports whether a key exists in so many places that a hint with one of them does not
// help.
func isCommon(name string) bool { return name == "name" || name == "type" || name == "description" }

func hasKey(keys []Key, name string) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name && !k.Unsupported && !k.Removed })
}

// heading returns the header of a table.
func heading(k *Key) string {
	if k.Type == Tables {
		return "[[" + k.Path + "]]"
	}
	return "[" + k.Path + "]"
}

// exampleHint returns the hint for a missing key if its example can be used unchanged: it is
// neither a name nor prose.
func exampleHint(k *Key) string {
	switch {
	case k.Type != String, k.Name == "name", k.Name == "group", strings.HasSuffix(k.Name, "_name"),
		strings.Contains(k.Example, " "):
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

// listIndex matches the index of an element in a path.
var listIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]+\]`) })

// reportNoEffectYet reports all keys of a file that have no effect yet in one warning. It names a
// key of several list elements once.
func (d *decoder) reportNoEffectYet() {
	if len(d.noEffectYet) == 0 {
		return
	}
	slices.Sort(d.noEffectYet)
	d.warnf(RuleNoEffectYet, d.firstNoEffect, "", "accepted, no effect yet: %s",
		strings.Join(slices.Compact(d.noEffectYet), ", "))
}
