package diff

import (
	"fmt"
	"strings"
)

// Remark is what a rule says of a change, in words. Findings of one rule that say the same of several fields are one remark.
type Remark struct {
	// Label is the risk, or that it is about security: "restart", "security". What risks no more than any other change is a "note".
	Label string
	// Words say what happens.
	Words string
	// Source names the rule, and where it is about security or destroys the fields that it found: "role-widens at rules[0].verbs".
	Source   string
	Risk     Risk
	Security bool
}

// maxPlaces is how many fields a remark names.
const maxPlaces = 3

// Remarks are the findings of the change in words: security first, then the highest risk.
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
		k := key{f.Rule, f.Words, f.Risk}
		if _, known := places[k]; !known {
			at = append(at, k)
			r := Remark{Label: f.label(), Words: Neutral(f.Words), Risk: f.Risk, Security: f.Security}
			others = append(others, r)
		}
		places[k] = append(places[k], f.Path)
	}
	for i, k := range at {
		others[i].Source = Neutral(k.rule)
		if others[i].Security || others[i].Risk >= RiskDestroy {
			others[i].Source = Neutral(source(k.rule, places[k]))
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

// String is the remark on one line, with a sign of its own for security, so that it is found without colour.
func (r Remark) String() string {
	sign := ""
	if r.Security {
		sign = "! "
	}
	return fmt.Sprintf("%s%s: %s  [%s]", sign, r.Label, r.Words, r.Source)
}

// label is the risk where that is more than a change of any field has.
func (f Finding) label() string {
	switch {
	case f.Security:
		return "security"
	case f.Risk <= RiskInPlace:
		return "note"
	}
	return f.Risk.Words()
}

// Words are the risk for people.
func (r Risk) Words() string {
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
	return rule + " at " + join(named)
}

// RiskWords say what the change may do, where its action and its findings do not say so; else they are empty.
func (c *Change) RiskWords() string {
	if c.Risk <= c.Action.Risk() {
		return ""
	}
	for _, f := range c.Findings {
		if f.Risk == c.Risk {
			return ""
		}
	}
	return "risk: " + c.Risk.Words()
}

// Headline says in words how the condition stands, and what its own messages are.
func (c Check) Headline() string {
	words := map[CheckStatus]string{
		CheckPass: "holds", CheckFail: "does not hold", CheckError: "could not be worked out", CheckUnknown: "is known only after apply",
	}[c.Status]
	if len(c.Problems) > 0 {
		words += ": " + strings.Join(c.Problems, "; ")
	}
	return Neutral(words)
}

// Symbol is the sign of the check: "!" for what fails, "?" for what is not known.
func (c Check) Symbol() string {
	switch c.Status {
	case CheckFail, CheckError:
		return "!"
	case CheckUnknown:
		return "?"
	}
	return ""
}

// Title is what the condition is of.
func (c Check) Title() string { return Neutral(c.Address) }
