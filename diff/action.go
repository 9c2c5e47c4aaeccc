package diff

import "fmt"

// Action is what is done to an object.
type Action string

// The actions. A resource that is moved or imported and also changed has the action of that
// change.
const (
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace"
	Destroy Action = "destroy"
	Move    Action = "move"
	Import  Action = "import"
	Forget  Action = "forget"
	Read    Action = "read"
	Noop    Action = "noop"
)

// Valid reports whether a is one of the actions above.
func (a Action) Valid() bool {
	switch a {
	case Create, Update, Replace, Destroy, Move, Import, Forget, Read, Noop:
		return true
	}
	return false
}

// Destructive reports whether the action destroys something that exists.
func (a Action) Destructive() bool { return a == Destroy || a == Replace }

// Risk returns the risk of the action alone; rules that know the kind of the object may raise it.
// A move only renames, and a read changes nothing. An import puts an object under management, and
// a forget removes one from it: neither changes the object, but an approval rule may need to
// distinguish them from a no-op.
func (a Action) Risk() Risk {
	switch a {
	case Create, Import:
		return RiskAdditive
	case Update, Forget:
		return RiskInPlace
	case Replace:
		return RiskReplace
	case Destroy:
		return RiskDestroy
	}
	return RiskNone
}

// ReplaceOrder is the order of the two steps of a replacement.
type ReplaceOrder string

// The orders. With CreateFirst, one of the two objects exists at all times.
const (
	DestroyFirst ReplaceOrder = "destroy_first"
	CreateFirst  ReplaceOrder = "create_first"
)

// Risk is what a change may do to a running system. Risks are ordered: a rule can require "at most
// RiskInPlace".
type Risk int

// The risks, the lowest first.
const (
	RiskNone Risk = iota
	RiskAdditive
	RiskInPlace
	RiskRestart
	RiskReplace
	RiskDestroy
)

var riskNames = [...]string{"none", "additive", "in_place", "restart", "replace", "destroy"}

// String returns the name of the risk, as in JSON and approval rules.
func (r Risk) String() string {
	if r < 0 || int(r) >= len(riskNames) {
		return fmt.Sprintf("risk(%d)", int(r))
	}
	return riskNames[r]
}

// MarshalText writes the name of the risk; an unknown risk is an error.
func (r Risk) MarshalText() ([]byte, error) {
	if r < 0 || int(r) >= len(riskNames) {
		return nil, fmt.Errorf("risk %d is not known", int(r))
	}
	return []byte(riskNames[r]), nil
}

// UnmarshalText reads the name of a risk; an unknown name is an error.
func (r *Risk) UnmarshalText(text []byte) error {
	for i, name := range riskNames {
		if name == string(text) {
			*r = Risk(i)
			return nil
		}
	}
	return fmt.Errorf("risk %q is not known; use one of %v", text, riskNames)
}
