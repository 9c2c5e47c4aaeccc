package risk

import (
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// Find returns the rule with the given name.
func Find(name string) (rule Rule, found bool) {
	for _, engine := range []string{diff.KindKubernetes, diff.KindTerraform} {
		for _, r := range ruleSet(engine).all {
			if r.Name == name {
				return r, true
			}
		}
	}
	return Rule{}, false
}

// MayTouch reports whether a field can be a reason for a finding of the rule. The pointer is a
// diff.FieldChange.Pointer split into unescaped steps. Values are not read, so the answer errs
// towards true; a finding names only the first of its fields.
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

// Touches reports whether the rule names the place of a difference. A rule about a whole object
// names no place.
func (r Rule) Touches(t Difference) bool { return r.touches(t) }

// along reports whether a pattern and a pointer agree on every step that both have. With generous,
// a step that cannot be decided counts as a match.
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

// isElement reports whether a step of a pointer has the form of a list element.
func isElement(step string) bool {
	_, err := strconv.Atoi(step)
	return err == nil || strings.Contains(step, "=")
}

// ReadsFold reports whether rules read a field that is folded by the rule named fold
// (diff.FieldChange.Fold); the empty string stands for a field that is not folded. Rules read the
// fields that an apply changes.
func ReadsFold(fold string) bool {
	return fold == "" || fold == foldChart || fold == foldChecksum || fold == foldRestart || fold == foldFormatting
}
