package kubernetes

import (
	"maps"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// redactSides hides the settings of secrets in the texts of a difference,
// also in lists and objects that are shown as a whole.
func (s *shower) redactSides(d *difference) {
	var known, own map[string]bool
	if d.hasBefore {
		if d.cutBefore, own = redacted(d.before, nil); own == nil {
			d.cutBefore = raw.Value{}
		}
		known = map[string]bool{}
		maps.Copy(known, own)
	}
	if !d.hasAfter {
		return
	}
	if d.cutAfter, own = redacted(d.after, known); own == nil {
		d.cutAfter = raw.Value{}
	}
	for setting := range own {
		d.changed = d.changed || !known[setting]
	}
}

// redacted hides the settings in all texts of a value, and returns them as
// own, or nil if there are none: then the value is unmodified. Known are
// those of the other side of a comparison, nil if there is none.
func redacted(v raw.Value, known map[string]bool) (shown raw.Value, own map[string]bool) {
	clean := true
	raw.Leaves(v, func(text string, isKey bool) bool {
		clean = isKey || !secret.Mentions(text)
		return clean
	})
	if clean {
		return v, nil
	}
	own = map[string]bool{}
	out := raw.Map(v, func(text string) string {
		shown, found := secret.Redact(text, known)
		maps.Copy(own, found)
		return shown
	})
	if len(own) == 0 {
		return v, nil
	}
	return out, own
}

// minEncoded is the smallest length of base64 that is searched for a secret.
const minEncoded = 16

// encoded reports whether a value holds base64 of a text that sets something under the name of
// a secret. All of such a value is treated as secret, because a reader cannot see what it sets.
func (s *names) encoded(v raw.Value) bool {
	return !raw.Leaves(v, func(text string, isKey bool) bool {
		if isKey || len(text) < minEncoded {
			return true
		}
		decoded, ok := decode(text)
		if !ok || !utf8.Valid(decoded) || !secret.Mentions(string(decoded)) {
			return true
		}
		if _, own := secret.Redact(string(decoded), nil); own != nil {
			return false
		}
		_, inner, _, ok := tree.Embedded("", string(decoded))
		return !ok || !inner.IsObject() && !inner.IsList() || !s.holds(nil, false, none, inner)
	})
}
