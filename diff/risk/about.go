package risk

import (
	"strconv"
	"strings"
)

// Find is the rule of a name.
func Find(name string) (rule Rule, found bool) {
	for _, r := range compiled().all {
		if r.Name == name {
			return r, true
		}
	}
	return Rule{}, false
}

// MayTouch says that a field can be a reason for what the rule finds. Pointer is a diff.FieldChange.Pointer, in unescaped steps. Values are
// not looked at, so it says yes too often rather than too seldom; a finding names only the first of its fields.
func (r Rule) MayTouch(pointer []string) bool {
	for _, p := range r.except {
		if len(p) <= len(pointer) && p.along(pointer, false) {
			return false
		}
	}
	for _, p := range r.paths {
		if p.along(pointer, true) {
			return true
		}
	}
	return len(r.paths) == 0
}

// Touches reports whether the rule names the place of a difference. A rule about the object as a whole names none.
func (r Rule) Touches(t Touched) bool { return r.touches(t) }

// along says that a pattern and a pointer go the same way as far as both go. Generous takes what is not sure for yes.
func (p pattern) along(pointer []string, generous bool) bool {
	for i, step := range p[:min(len(p), len(pointer))] {
		switch step {
		case anySteps:
			return generous
		case anyKey:
		case anyElement:
			if !generous && !isElement(pointer[i]) {
				return false
			}
		default:
			if step != pointer[i] {
				return false
			}
		}
	}
	return true
}

// isElement says that a step of a pointer looks like the element of a list.
func isElement(step string) bool {
	_, err := strconv.Atoi(step)
	return err == nil || strings.Contains(step, "=")
}

// Sees says that rules look at a field that is folded by this rule (diff.FieldChange.Fold), or at one that is not folded: an apply changes it.
func Sees(fold string) bool {
	return fold == "" || fold == foldChart || fold == foldChecksum || fold == foldRestart || fold == foldFormatting
}
