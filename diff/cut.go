package diff

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// This file cuts learned secrets out of a value that also holds other content: the lines of a text,
// the leaves of a list or an object. Masking the whole value because of one part would hide the
// other changes in it.

// cut replaces the parts of both sides that hold a learned secret. It returns hidden if that is not
// possible, so that neither side may be shown. It returns copied if a value is hidden because of a
// learned secret, or if a part that it cut is new or changed.
func (m *Masker) cut(before, after UnmaskedSide) (was, is UnmaskedSide, hidden, copied bool) {
	if before.Sensitive && !before.Absent || after.Sensitive && !after.Absent {
		return before, after, true, false
	}
	c := secretCutter{isSecret: m.isSecret, keys: map[string]bool{}}
	for _, s := range []UnmaskedSide{before, after} {
		switch {
		case s.Absent || s.Unknown:
		case anyTextMatches(s.Value, m.matchesConfigured):
			return before, after, true, false
		case !c.canCut(s.Value):
			hidden = true
		}
	}
	if hidden {
		return before, after, true, true
	}
	was, is = before, after
	sides := []*UnmaskedSide{&was, &is}
	for _, s := range sides {
		c.find(s.Value)
	}
	var others map[string]bool
	for _, s := range sides {
		if s.Absent || s.Unknown {
			continue
		}
		own := map[string]bool{}
		s.Value = raw.Map(s.Value, func(text string) string { return c.text(text, others, own) })
		for part := range own {
			copied = copied || s == &is && !others[part]
		}
		if others = own; anyTextMatches(s.Value, m.isSecret) {
			return before, after, true, true
		}
	}
	return was, is, false, copied
}

// secretCutter cuts one value.
type secretCutter struct {
	isSecret func(string) bool
	// keys are the starts of the lines with a secret: a line of the other side that starts like one
	// may hold the previous value of the secret.
	keys map[string]bool
}

// canCut reports whether parts of a value can be shown without the others.
func (c *secretCutter) canCut(v Raw) bool {
	text, isText := raw.String(v)
	return v.IsNull() || v.IsObject() || v.IsList() || isText && (strings.Contains(text, "\n") || !c.isSecret(text))
}

// find collects the keys of the lines that hold a secret.
func (c *secretCutter) find(v Raw) {
	raw.Leaves(v, func(text string, isKey bool) bool {
		if isKey {
			return true
		}
		for line := range strings.Lines(text) {
			if key := lineKey(line); key != "" && c.isSecret(line) {
				c.keys[key] = true
			}
		}
		return true
	})
}

// lineKey returns the key that a line sets, the text before = or :. It is empty when the line sets
// nothing.
func lineKey(line string) string {
	key, _, found := strings.Cut(line, "=")
	if other, _, also := strings.Cut(line, ":"); also && (!found || len(other) < len(key)) {
		key, found = other, true
	}
	if !found {
		return ""
	}
	return strings.TrimSpace(key)
}

// text returns a text with the parts that hold a secret replaced. It adds the texts that it cuts
// to own; others are those of the before side, or nil when there is no before side.
func (c *secretCutter) text(text string, others, own map[string]bool) string {
	if !strings.Contains(text, "\n") {
		if !c.isSecret(text) {
			return text
		}
		return maskPart(text, others, own)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimRight(line, "\r\n")
		if key := lineKey(line); c.isSecret(line) || key != "" && c.keys[key] {
			indent := len(body) - len(strings.TrimLeft(body, " \t"))
			body = body[:indent] + maskPart(body[indent:], others, own)
		}
		b.WriteString(body + line[len(strings.TrimRight(line, "\r\n")):])
	}
	return b.String()
}

// maskPart returns the placeholder for a text, which shows whether the before side has a
// different one.
func maskPart(text string, others, own map[string]bool) string {
	own[text] = true
	if others == nil || others[text] {
		return secret.Hidden
	}
	return secret.Changed
}

// RuleMasked is the rule of a finding about a change that a masked value hides.
const RuleMasked = "masked-change"

// MaskedChangeFinding returns the finding about a masked field that decides what runs or who may do what.
func MaskedChangeFinding(path string) Finding {
	return Finding{
		Rule: RuleMasked, Source: "diff.md#what-is-masked", Risk: RiskInPlace, Security: true, IndividualApproval: true,
		Path: path, Message: "a masked part of what runs is new or changes, so nobody can review it",
	}
}

// MaskedCopyFinding returns the finding about a field that is masked because its value equals a secret,
// although its name is not that of a secret.
func MaskedCopyFinding(path string) Finding {
	f := MaskedChangeFinding(path)
	f.Message = "a new or changed part is masked because it equals a secret, so nobody can review it"
	return f
}

// HidesChange reports whether a field is masked as a whole, or in a part that the before side does
// not have.
func (f *FieldChange) HidesChange() bool {
	if f.Before.Masked || f.After.Masked {
		return f.After.Mark != MarkSame
	}
	return f.MaskedPart
}

// cutChanged reports whether a masked part of the after side is missing on the before side.
func cutChanged(before, after UnmaskedSide) bool {
	if after.Absent || after.Unknown {
		return false
	}
	return !raw.Leaves(after.Value, func(text string, _ bool) bool {
		return !strings.Contains(text, secret.Changed) && (!before.Absent || !strings.Contains(text, secret.Hidden))
	})
}
