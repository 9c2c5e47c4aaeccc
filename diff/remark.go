package diff

import (
	"fmt"
	"strings"
)

// Remark is the text of a finding. Findings of one rule with the same text
// about several fields are one remark.
type Remark struct {
	// Label is the risk, or "security". It is "note" where the risk is not
	// above that of any change.
	Label string
	// Text describe what happens.
	Text string
	// Source names the rule and, for a security or destructive finding, the fields: "role-widens at
	// rules[0].verbs".
	Source   string
	Risk     Risk
	Security bool
}

// maxPlaces is the largest number of fields that a remark names.
const maxPlaces = 3

// Remarks returns the findings of the change as text: security first, then the highest risk.
func (c *Change) Remarks() []Remark {
	if len(c.Findings) == 0 {
		return nil
	}
	type key struct {
		rule, words string
		risk        Risk
	}
	var out, others []Remark
	places, at := map[key][]string{}, []key{}
	for _, f := range c.Findings {
		k := key{f.Rule, f.Message, f.Risk}
		if _, known := places[k]; !known {
			at = append(at, k)
			r := Remark{Label: f.riskLabel(), Text: EscapeText(f.Message), Risk: f.Risk, Security: f.Security}
			others = append(others, r)
		}
		places[k] = append(places[k], f.Path)
	}
	for i, k := range at {
		others[i].Source = EscapeText(k.rule)
		if others[i].Security || others[i].Risk >= RiskDestroy {
			others[i].Source = EscapeText(source(k.rule, places[k]))
		}
	}
	for _, security := range []bool{true, false} {
		for _, r := range others {
			if r.Security == security {
				out = append(out, r)
			}
		}
	}
	return out
}

// String returns the remark on one line, with a sign for security, so that it
// is visible without color.
func (r Remark) String() string {
	sign := ""
	if r.Security {
		sign = "! "
	}
	return fmt.Sprintf("%s%s: %s  [%s]", sign, r.Label, r.Text, r.Source)
}

// riskLabel returns the risk if it is higher than that of any change of a field.
func (f Finding) riskLabel() string {
	switch {
	case f.Security:
		return "security"
	case f.Risk <= RiskInPlace:
		return "note"
	}
	return f.Risk.Label()
}

// Label returns the risk as people read it.
func (r Risk) Label() string {
	if r == RiskInPlace {
		return "in place"
	}
	return r.String()
}

func source(rule string, paths []string) string {
	var named []string
	for _, p := range paths {
		if p != "" {
			named = append(named, p)
		}
	}
	if more := len(named) - maxPlaces; more > 0 {
		named = append(named[:maxPlaces], fmt.Sprintf("%d more", more))
	}
	if len(named) == 0 {
		return rule
	}
	return rule + " at " + List(named)
}

// RiskText describes what the change may do, where neither its action nor its
// findings do so. They are empty otherwise.
func (c *Change) RiskText() string {
	if c.Risk <= c.Action.Risk() {
		return ""
	}
	for _, f := range c.Findings {
		if f.Risk == c.Risk {
			return ""
		}
	}
	return "risk: " + c.Risk.Label()
}

// Headline describes the status of the condition, with its own messages.
func (c Check) Headline() string {
	words := map[CheckStatus]string{
		CheckPass: "holds", CheckFail: "does not hold", CheckError: "could not be evaluated",
		CheckUnknown: "is known only after apply",
	}[c.Status]
	if len(c.Problems) > 0 {
		words += ": " + strings.Join(c.Problems, "; ")
	}
	return EscapeText(words)
}

// Symbol returns the sign of the check: "!" for one that fails, "?" for one that is not known.
func (c Check) Symbol() string {
	switch c.Status {
	case CheckFail, CheckError:
		return "!"
	case CheckUnknown:
		return "?"
	}
	return ""
}

// Title returns the address of the object of the condition.
func (c Check) Title() string { return EscapeText(c.Address) }
