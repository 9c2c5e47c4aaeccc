package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shape is what a value must look like. As existing files rely on it, a number or a bool may stand where a text is wanted, and
// the text of one where it is.
type shape int

const (
	textShape   shape = iota // string
	flagShape                // bool
	numberShape              // whole number
	textsShape               // list of strings
	mapShape                 // table of strings
	flagsShape               // table of bools
	objectShape              // table with keys of its own
	listShape                // array of such tables
	spanShape                // Go duration, at most an hour
	anyShape                 // not looked at
)

// effect says what a key does.
type effect int

const (
	works   effect = iota
	later          // known to the format, no effect yet
	stray          // people write it, the format does not know it: a warning
	refused        // once known, rejected since: an error
)

// rule is what the format says about one key.
type rule struct {
	shape    shape
	required bool
	effect   effect
	hint     string // for stray and refused: what to write instead
	keys     schema // for objectShape and listShape
}

// schema is the keys of one table.
type schema map[string]rule

func is(s shape) rule                   { return rule{shape: s} }
func must(s shape) rule                 { return rule{shape: s, required: true} } //nolint:unparam // beside is, which takes every shape
func notYet(s shape) rule               { return rule{shape: s, effect: later} }
func object(keys schema) rule           { return rule{shape: objectShape, keys: keys} }
func list(keys schema) rule             { return rule{shape: listShape, keys: keys} }
func strayKey(hint string) rule         { return rule{shape: anyShape, effect: stray, hint: hint} }
func refusedKey(hint string) rule       { return rule{shape: anyShape, effect: refused, hint: hint} }
func (r rule) noEffect() rule           { r.effect = later; return r }
func (r rule) needed() rule             { r.required = true; return r }
func (s schema) names() []string        { return slices.Sorted(maps.Keys(s)) }
func with(s schema, more schema) schema { s = maps.Clone(s); maps.Copy(s, more); return s }

// check tells everything that is wrong with the keys and shapes of a table. It gives the keys that have no effect yet, as "key"
// or "table.key", with the place of the first.
func (l *loader) check(file, prefix string, t *table, s schema) (idle []string, first position) {
	for _, name := range t.sorted() {
		if l.full() {
			return nil, first
		}
		n, full := t.keys[name], prefix+name
		r, known := s[name]
		if !known {
			hint := didYouMean(name, s.names())
			if hint == "" {
				hint = "known here: " + strings.Join(s.names(), ", ")
			}
			l.errorf(file, n.key, hint, "unknown key %q", full)
			continue
		}
		switch r.effect {
		case stray:
			l.warnf(file, n.key, r.hint, "%q is not a key of the format and has no effect", full)
			continue
		case refused:
			l.errorf(file, n.key, r.hint, "%q is not accepted any more", full)
			continue
		case later:
			if idle = append(idle, full); len(idle) == 1 {
				first = n.key
			}
		}
		below, at := l.checkShape(file, full, n, r)
		if r.effect == works && len(below) > 0 {
			if len(idle) == 0 {
				first = at
			}
			idle = append(idle, below...)
		}
	}
	for _, name := range s.names() {
		if _, ok := t.keys[name]; s[name].required && !ok {
			l.errorf(file, t.at, "", "%q is missing", prefix+name)
		}
	}
	return idle, first
}

// checkShape checks one value and what is below it.
func (l *loader) checkShape(file, full string, n *node, r rule) (idle []string, first position) {
	wrong := func(want string) { l.errorf(file, n.at, "", "%q must be %s, not %s", full, want, n.kind()) }
	switch r.shape {
	case textShape:
		if s, ok := n.text(); !ok {
			wrong("a string")
		} else if r.required && s == "" {
			l.errorf(file, n.at, "", "%q must not be empty", full)
		}
	case flagShape:
		if _, ok := n.flag(); !ok {
			wrong("true or false")
		}
	case numberShape:
		if _, ok := n.number(); !ok {
			wrong("a whole number")
		}
	case textsShape:
		if _, ok := n.texts(); !ok {
			wrong("a list of strings")
		}
	case mapShape:
		if _, ok := n.textMap(); !ok {
			l.checkMap(file, full, n)
		}
	case flagsShape:
		t, ok := n.value.(*table)
		for _, name := range t.names() {
			if _, isFlag := t.keys[name].flag(); !isFlag {
				ok = false
			}
		}
		if !ok {
			wrong("a table of true and false")
		}
	case spanShape:
		l.checkSpan(file, full, n)
	case objectShape:
		if t, ok := n.value.(*table); ok {
			return l.check(file, full+".", t, r.keys)
		}
		wrong("a table")
	case listShape:
		items, ok := n.tables()
		if !ok {
			wrong("an array of tables")
		}
		for i, t := range items {
			below, at := l.check(file, fmt.Sprintf("%s[%d].", full, i), t, r.keys)
			if len(idle) == 0 {
				first = at
			}
			idle = append(idle, below...)
		}
	}
	return idle, first
}

func (l *loader) checkMap(file, full string, n *node) {
	t, ok := n.value.(*table)
	if !ok {
		l.errorf(file, n.at, "", "%q must be a table of strings, not %s", full, n.kind())
		return
	}
	for _, name := range t.sorted() {
		if _, ok := t.keys[name].text(); !ok {
			l.errorf(file, t.keys[name].at, "put structured values into a file, or write them as JSON in a string",
				"%q must be a string, not %s", full+"."+name, t.keys[name].kind())
		}
	}
}

func (l *loader) checkSpan(file, full string, n *node) {
	s, ok := n.value.(string)
	span, err := time.ParseDuration(s)
	if !ok || err != nil || span <= 0 || span > time.Hour {
		l.errorf(file, n.at, `write it like "90s", "5m" or "1h"`, "%q must be a duration of at most an hour", full)
	}
}

// sayIdle is the one warning of a file about keys that have no effect yet. Elements of a list are named once.
func (l *loader) sayIdle(file string, at position, idle []string) {
	if len(idle) == 0 {
		return
	}
	var names []string
	for _, full := range idle {
		names = append(names, listIndex.ReplaceAllString(full, "[]"))
	}
	slices.Sort(names)
	l.warnf(file, at, "", "accepted, no effect yet: %s", strings.Join(slices.Compact(names), ", "))
}

func (t *table) names() []string {
	if t == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.keys))
}

// kind names what a value is, for errors.
func (n *node) kind() string {
	switch n.value.(type) {
	case string:
		return "a string"
	case int64, float64:
		return "a number"
	case bool:
		return "a bool"
	case *table:
		return "a table"
	case []*node:
		return "a list"
	}
	return "a date or time"
}

// text gives a scalar as it is rendered later.
func (n *node) text() (string, bool) {
	if n == nil {
		return "", false
	}
	switch v := n.value.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func (n *node) flag() (value, ok bool) {
	if n == nil {
		return false, false
	}
	switch v := n.value.(type) {
	case bool:
		return v, true
	case string:
		return v == "true", v == "true" || v == "false"
	}
	return false, false
}

func (n *node) number() (int64, bool) {
	if n == nil {
		return 0, false
	}
	switch v := n.value.(type) {
	case int64:
		return v, true
	case string:
		whole, err := strconv.ParseInt(v, 10, 64)
		return whole, err == nil
	}
	return 0, false
}

func (n *node) texts() ([]string, bool) {
	if n == nil {
		return nil, false
	}
	items, ok := n.value.([]*node)
	if !ok {
		return nil, false
	}
	var texts []string
	for _, item := range items {
		s, ok := item.text()
		if !ok {
			return nil, false
		}
		texts = append(texts, s)
	}
	return texts, true
}

// textMap gives a table of scalars; nil for an empty one.
func (n *node) textMap() (map[string]string, bool) {
	if n == nil {
		return nil, false
	}
	t, ok := n.value.(*table)
	if !ok {
		return nil, false
	}
	var texts map[string]string
	for name, item := range t.keys {
		s, ok := item.text()
		if !ok {
			return nil, false
		}
		if texts == nil {
			texts = map[string]string{}
		}
		texts[name] = s
	}
	return texts, true
}

// tables gives the elements of an array of tables.
func (n *node) tables() ([]*table, bool) {
	if n == nil {
		return nil, false
	}
	items, ok := n.value.([]*node)
	if !ok {
		return nil, false
	}
	tables := make([]*table, 0, len(items))
	for _, item := range items {
		t, isTable := item.value.(*table)
		if !isTable {
			ok = false
			continue
		}
		tables = append(tables, t)
	}
	return tables, ok
}

// The accessors of a table give zero values for what is missing or misshaped:
// check has told about it.

func (t *table) text(name string) string    { s, _ := t.keys[name].text(); return s }
func (t *table) flag(name string) bool      { v, _ := t.keys[name].flag(); return v }
func (t *table) number(name string) int     { v, _ := t.keys[name].number(); return int(v) }
func (t *table) texts(name string) []string { v, _ := t.keys[name].texts(); return v }
func (t *table) textMap(name string) map[string]string {
	v, _ := t.keys[name].textMap()
	return v
}

func (t *table) tables(name string) []*table {
	v, _ := t.keys[name].tables()
	return v
}

func (t *table) object(name string) *table {
	if n, ok := t.keys[name]; ok {
		object, _ := n.value.(*table)
		return object
	}
	return nil
}

// place is where the value of a key is written, or where the table begins.
func (t *table) place(name string) position {
	if n, ok := t.keys[name]; ok {
		return n.at
	}
	return t.at
}
