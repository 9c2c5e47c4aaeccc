// Package tree holds what all comparisons of two values share: paths into them, the
// pairing of the elements of two lists, and the parsing of documents inside strings.
//
// It never decides what a difference means; the packages of diff that read one kind of plan do.
package tree

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// Step is one step into a value. Exactly one of these holds: it is a key of an
// object; it is an index (IsIndex); it selects the element of a list by its content
// (IsSelect); or it enters the document inside a string (Into, for example "yaml").
type Step struct {
	Key string
	// Select is the name of a selected element, or KEY=VALUE[,KEY=VALUE…] if keys other
	// than "name" identify the elements, or the value itself in a set of plain values.
	Select string
	// by is the first of byCount keys, see By.
	by    *string
	Index int
	// Shift is the index of an indexed element in before minus its index in
	// after, which is Index. It is 0 for an element that only one side has.
	Shift   int32
	byCount uint16
	// into is the number of a format, see Into.
	into              uint8
	IsIndex, IsSelect bool
	// Lone is the only side that has the element; Both for a step that is no element.
	Lone Side
}

// Selected returns the step to a list's element by its content.
func Selected(what string, by []string, lone Side) Step {
	by = by[:min(len(by), math.MaxUint16)]
	return Step{IsSelect: true, Select: what, by: unsafe.SliceData(by), byCount: uint16(len(by)), Lone: lone}
}

// By returns the keys of the element from which Select is built; none in a set of plain values.
func (s Step) By() []string { return unsafe.Slice(s.by, s.byCount) }

// Into returns the format of the document that the step enters; empty for any other step.
func (s Step) Into() string { return formats[s.into] }

// formats are the formats of documents, by their numbers in steps.
var formats = [...]string{"", FormatJSON, FormatYAML, FormatBase64}

// Side is the side of a comparison that has something.
type Side uint8

// The sides.
const (
	Both Side = iota
	OnlyBefore
	OnlyAfter
)

// Plain returns the key of a step, or the value that it selects, unmodified.
func (s Step) Plain() string {
	if s.IsSelect {
		return s.Select
	}
	return s.Key
}

// Path leads from the root of an object to a value inside it. Paths share steps: a step that a path
// has never changes.
type Path []*Step

// Field returns the path of a key below p. The results of these methods never share memory with p.
func (p Path) Field(key string) Path { return p.and(Step{Key: key}) }

// At returns the path of a list's element by its index.
func (p Path) At(i int) Path { return p.and(Step{Index: i, IsIndex: true}) }

// Paired returns the path of the element of a pair, by its indices.
func (p Path) Paired(pair Pair) Path { return p.and(pair.Step()) }

// Element returns the path of the first element on the path that only one
// side has, and that side. It returns Both if there is none.
func (p Path) Element() (Path, Side) {
	for i, s := range p {
		if s.Lone != Both {
			return p[:i+1], s.Lone
		}
	}
	return nil, Both
}

// Shifted reports whether an index on the path differs in before.
func (p Path) Shifted() bool {
	for _, s := range p {
		if s.Shift != 0 {
			return true
		}
	}
	return false
}

// InBefore returns the path with the indices of before.
func (p Path) InBefore() Path {
	if !p.Shifted() {
		return p
	}
	out := slices.Clone(p)
	for i, s := range out {
		if s.Shift != 0 {
			was := *s
			was.Index, was.Shift = s.Index+int(s.Shift), 0
			out[i] = &was
		}
	}
	return out
}

// Selected returns the path of a list's element by its content.
func (p Path) Selected(what string, by []string) Path {
	return p.and(Selected(what, by, Both))
}

// Select is like Selected for an element that only one side may have.
func (p Path) Select(what string, by []string, lone Side) Path {
	return p.and(Selected(what, by, lone))
}

// Into returns the path of the document inside the string at p.
func (p Path) Into(format string) Path {
	return p.and(Step{into: uint8(max(0, slices.Index(formats[:], format)))})
}

func (p Path) and(s Step) Path { return append(p[:len(p):len(p)], &s) }

// Place returns the index, with the index in before if that differs.
func (s Step) Place() string {
	if s.Shift != 0 {
		return strconv.Itoa(s.Index+int(s.Shift)) + "→" + strconv.Itoa(s.Index)
	}
	return strconv.Itoa(s.Index)
}

// Text returns the path as it may be shown: spec[0].name, tags["a b"],
// containers[web].image, data["app.json"] (json) server.port, and rules[3→4] for
// an element with a different index in before. The first key is an attribute of a
// schema; every other key and selection may hold a secret and goes through shown.
func (p Path) Text(shown func(Step) string) string {
	var b strings.Builder
	b.Grow(p.size())
	rest := p
	if len(p) > 0 && p[0].isKey() {
		b.WriteString(p[0].Key)
		rest = p[1:]
	}
	rest.AppendText(&b, len(rest) == len(p), shown)
	return strings.TrimRight(b.String(), " ")
}

// AppendText appends the text of further steps to that of the steps before. Fresh means that nothing
// is right before the next key.
func (p Path) AppendText(b *strings.Builder, fresh bool, shown func(Step) string) {
	for _, s := range p {
		switch {
		case s.IsIndex:
			b.WriteString("[" + s.Place() + "]")
		case s.Into() != "":
			if !fresh {
				b.WriteString(" ")
			}
			b.WriteString("(" + s.Into() + ") ")
		case s.IsSelect:
			b.WriteString("[" + selected(shown(*s)) + "]")
		default:
			key := shown(*s)
			switch {
			case !identifier(key):
				b.WriteString("[" + strconv.Quote(key) + "]")
			case fresh:
				b.WriteString(key)
			default:
				b.WriteByte('.')
				b.WriteString(key)
			}
		}
		fresh = s.Into() != ""
	}
}

func (s Step) isKey() bool { return !s.IsIndex && !s.IsSelect && s.Into() == "" }

// Pointer returns the path as a JSON pointer (RFC 6901) with two more kinds of
// step: KEY=VALUE[,KEY=VALUE] selects the element of a list, and @FORMAT enters
// the document inside a string. Keys and selections go through shown, as in Text.
func (p Path) Pointer(shown func(Step) string) string {
	var b strings.Builder
	b.Grow(p.size())
	for i, s := range p {
		b.WriteByte('/')
		switch {
		case s.IsIndex:
			b.WriteString(strconv.Itoa(s.Index))
		case s.Into() != "":
			b.WriteString("@" + s.Into())
		case s.IsSelect:
			switch what := shown(*s); len(s.By()) {
			case 0:
				b.WriteString("=" + escapePointer(what))
			case 1:
				b.WriteString(strings.ReplaceAll(Selection(s.By()[0], what), "/", "~1"))
			default: // Select consists of Selection texts
				b.WriteString(strings.ReplaceAll(what, "/", "~1"))
			}
		case i == 0:
			b.WriteString(escapePointer(s.Key))
		default:
			b.WriteString(escapePointer(shown(*s)))
		}
	}
	return b.String()
}

// size returns about how many bytes the text of a path has.
func (p Path) size() int {
	n := 0
	for _, s := range p {
		n += len(".") + len(s.Key) + len(s.Select)
		if !s.isKey() {
			n += len("[]")
		}
		if s.IsSelect && s.byCount > 0 {
			n += len(*s.by)
		}
	}
	return n
}

// Selection returns KEY=VALUE as it is used in a Step.Select of several keys. It escapes both,
// so that no value looks like another key: "~" is "~0", "," is "~2", and "=" in a key is "~3".
func Selection(key, value string) string {
	return selectionKey.Replace(key) + "=" + selectionValue.Replace(value)
}

var (
	selectionKey   = strings.NewReplacer("~", "~0", ",", "~2", "=", "~3")
	selectionValue = strings.NewReplacer("~", "~0", ",", "~2")
)

func escapePointer(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// selected quotes a selection that could be confused with an index or contains the end of one.
func selected(text string) string {
	if text == "" || strings.ContainsAny(text, "[]\" ") || index(text) {
		return strconv.Quote(text)
	}
	return text
}

func index(text string) bool {
	if text[0] > '9' { // as most names: an error takes memory
		return false
	}
	_, err := strconv.Atoi(text)
	return err == nil
}

func identifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// Overlaps reports whether the paths are equal or one is a prefix of the other.
func (p Path) Overlaps(other Path) bool {
	for i := range min(len(p), len(other)) {
		if !p[i].same(*other[i]) {
			return false
		}
	}
	return true
}

func (s Step) same(o Step) bool { return s.id() == o.id() }

// stepID is what makes a step the same as another one.
type stepID struct {
	key, selected, into string
	index               int
	isIndex, isSelect   bool
}

func (s Step) id() stepID {
	return stepID{key: s.Key, selected: s.Select, into: s.Into(), index: s.Index, isIndex: s.IsIndex, isSelect: s.IsSelect}
}
