package diff

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// MarkHidden replaces a name, key or id that holds a secret.
const MarkHidden = "(sensitive)"

// MaskOptions select what must not be shown. The zero value masks what its
// caller marks as sensitive and copies of it (see Masker.Learn).
type MaskOptions struct {
	// Secrets reports whether a text holds a secret that is known from elsewhere, for example
	// Secrets.Contains. Nil means that there is none.
	Secrets func(text string) bool
	// TagKey is the key of the short hashes of masked values. No hashes are shown if it is empty.
	TagKey []byte
	// Limit is the number of bytes of one value that are shown; 0 means DefaultLimit.
	Limit int
	// Lines is the largest number of lines in a line diff; 0 means DefaultLines.
	Lines int
	// Context is the number of unchanged lines around each change in a line
	// diff; 0 means DefaultContext, and a negative number none.
	Context int
}

// DefaultLimit is the number of bytes of one value that are shown by default.
const DefaultLimit = 64 << 10

// DefaultLines and DefaultContext are the default limits of a line diff, in lines.
const (
	DefaultLines   = 2000
	DefaultContext = 3
)

// Masker is the only way to convert a Raw to a ShownValue. It is for one report and one goroutine.
type Masker struct {
	options MaskOptions
	learned Secrets
}

// NewMasker returns a masker with the given options.
func NewMasker(o MaskOptions) *Masker {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.Lines <= 0 {
		o.Lines = DefaultLines
	}
	if o.Context == 0 {
		o.Context = DefaultContext
	}
	return &Masker{options: o}
}

// UnmaskedSide is one side of a field before it is masked.
type UnmaskedSide struct {
	Value Raw
	// Absent: there is no value. Unknown: it is known only after apply.
	Absent, Unknown bool
	// Sensitive: the source marks the value as one that must not be shown.
	Sensitive bool
	// Plain: the value decides what runs or who may do what (an image, a subject, a role, a
	// path). It is shown even if it equals a learned secret: otherwise the author of a secret
	// could choose what a reviewer does not see. What MaskOptions.Secrets finds stays masked.
	Plain bool
}

// minLearned is the smallest length of a learned value in bytes: shorter ones
// are parts of many others.
const minLearned = 8

// Learn records the texts of a sensitive value, so that copies of them elsewhere are masked
// too. Terraform marks an attribute, not a value: a provider that copies a sensitive
// attribute to another one shows it in clear (the built-in terraform_data does). Keys are
// not learned: they are names far more often than secrets; nor are words, hosts and
// numbers, which occur in much that is no copy. Learn all values before you call Field.
func (m *Masker) Learn(sensitive Raw) {
	raw.Leaves(sensitive, func(text string, isKey bool) bool {
		if !isKey && len(text) >= minLearned && !secret.Ordinary(text) {
			m.learned.add(text, minLearned)
		}
		return true
	})
}

// Field returns the form of one difference that may be shown. When one side must not
// be shown, the other is masked too: it is the previous or the next value of a secret.
func (m *Masker) Field(path tree.Path, before, after UnmaskedSide) FieldChange {
	return m.FieldAt(path.Text(m.Step), path, before, after)
}

// FieldAt is Field with the text of the path that is shown.
func (m *Masker) FieldAt(shown string, path tree.Path, before, after UnmaskedSide) FieldChange {
	f := m.sides(before, after)
	f.Path = shown
	f.SetPointers(path, m.Step)
	return f
}

// sides returns a field without its path and pointers.
func (m *Masker) sides(before, after UnmaskedSide) (f FieldChange) {
	plain := before.Plain || after.Plain
	hidden, copied := m.mustMask(before, plain) || m.mustMask(after, plain), false
	if hidden {
		before, after, hidden, copied = m.cut(before, after)
	}
	if hidden {
		f.Before, f.After = m.masked(before), m.masked(after)
		f.After.Mark = markOf(before, after)
		f.MaskedCopy = copied && !after.Absent && f.After.Mark != MarkSame
		return f
	}
	f.Before, f.After, f.MaskedPart = shape(before), shape(after), cutChanged(before, after)
	f.MaskedCopy = copied
	was, wasType := sideText(before)
	is, isType := sideText(after)
	at := 0
	if wasType != "" && isType != "" {
		at = commonPrefix(was, is)
	}
	if wasType != "" {
		m.setText(&f.Before, was, wasType, at)
	}
	if isType != "" {
		m.setText(&f.After, is, isType, at)
	}
	if !before.Unknown && !after.Unknown && isLines(was, wasType) && isLines(is, isType) {
		f.Lines = diffLines(was, is, before.Absent, after.Absent, m.options)
	}
	return f
}

// Text returns a key or an id as it may be shown. It is cut at MaskOptions.Limit, like a value.
func (m *Masker) Text(s string) string {
	if m.isSecret(s) {
		return MarkHidden
	}
	return m.bounded(s)
}

// Name returns a name as it may be shown. It is shown even if it equals a
// learned secret, see UnmaskedSide.Plain.
func (m *Masker) Name(s string) string {
	if m.matchesConfigured(s) {
		return MarkHidden
	}
	return m.bounded(s)
}

// Step returns a path step as it may be shown. A step that selects an element
// of a list by its keys counts as a name.
func (m *Masker) Step(s tree.Step) string {
	switch {
	case s.IsSelect && len(s.By()) > 0:
		return m.Name(s.Select)
	case s.IsSelect:
		return m.Text(s.Select)
	}
	return m.Text(s.Key)
}

func (m *Masker) bounded(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > m.options.Limit {
		return runeSlice(s, 0, m.options.Limit) + "…"
	}
	return s
}

// ContainsSecret reports whether a text holds a secret.
func (m *Masker) ContainsSecret(s string) bool { return m.isSecret(s) }

func (m *Masker) isSecret(s string) bool { return m.learned.Contains(s) || m.matchesConfigured(s) }

// matchesConfigured reports whether a text holds a secret that the caller knows from elsewhere.
func (m *Masker) matchesConfigured(s string) bool {
	return m.options.Secrets != nil && m.options.Secrets(s)
}

func (m *Masker) mustMask(s UnmaskedSide, plain bool) bool {
	if s.Sensitive && !s.Absent {
		return true
	}
	if s.Absent || s.Unknown {
		return false
	}
	if m.options.Secrets == nil && (plain || m.learned.isEmpty()) {
		return false // no text can match
	}
	knows := m.isSecret
	if plain {
		knows = m.matchesConfigured
	}
	return anyTextMatches(s.Value, knows)
}

// anyTextMatches reports whether knows matches a text of a value, or the value as a whole.
func anyTextMatches(v Raw, knows func(string) bool) bool {
	if !raw.Leaves(v, func(text string, _ bool) bool { return !knows(text) }) {
		return true
	}
	if v.IsObject() || v.IsList() {
		text, _ := raw.Text(v)
		return knows(text)
	}
	return false
}

func shape(s UnmaskedSide) ShownValue {
	return ShownValue{Absent: s.Absent, Unknown: s.Unknown && !s.Absent}
}

func (m *Masker) masked(s UnmaskedSide) ShownValue {
	out := shape(s)
	if s.Absent {
		return out
	}
	out.Masked = true
	if !s.Unknown && len(m.options.TagKey) > 0 {
		text, kind := raw.Text(s.Value)
		mac := hmac.New(sha256.New, m.options.TagKey)
		mac.Write([]byte(kind + ":" + text))
		out.Tag = hex.EncodeToString(mac.Sum(nil)[:3])
	}
	return out
}

// markOf compares two sides of which at least one is masked.
func markOf(before, after UnmaskedSide) Mark {
	switch {
	case after.Absent || after.Unknown:
		return ""
	case before.Absent:
		return MarkNew
	case !before.Unknown && before.Value.Equal(after.Value):
		return MarkSame
	}
	return MarkChanged
}

// sideText returns the complete text of a side, with an empty type if it has none.
func sideText(s UnmaskedSide) (string, ValueType) {
	if s.Absent || s.Unknown {
		return "", ""
	}
	text, kind := raw.Text(s.Value)
	return text, ValueType(kind)
}

// setText puts a text into s, cut to the limit around the first difference, which is at byte at.
func (m *Masker) setText(s *ShownValue, text string, kind ValueType, at int) {
	s.Type = kind
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= m.options.Limit {
		s.Text = text
		return
	}
	sum := sha256.Sum256([]byte(text))
	s.Sum, s.Size = "sha256:"+hex.EncodeToString(sum[:]), len(text)
	start, end := window(text, m.options.Limit, at)
	s.Start = start
	s.Text = runeSlice(text, start, end)
}

// window returns the part of a longer text, of at most this many bytes, that
// includes byte at. It starts at a whole rune.
func window(text string, bytes, at int) (start, end int) {
	if at > bytes/2 {
		start = min(at-bytes/4, len(text)-bytes)
	}
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return start, min(start+bytes, len(text))
}

// runeSlice returns s[start:end] without a broken rune at its end.
func runeSlice(s string, start, end int) string {
	for end > start && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[start:end]
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
