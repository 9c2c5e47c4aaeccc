package form

import (
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// validName matches valid names of apps and installs; the control plane has the same rule.
var validName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// NameProblem returns what is wrong with the name of a new app or install, or "". It is the Check of a field.
func NameProblem(name string) string {
	switch {
	case !validName.MatchString(name):
		return "is not a valid name: use at most 63 lower-case letters, digits, - and _, starting with a letter or digit"
	case id.Valid("ins", name) || id.Valid("app", name):
		return "is not a valid name: it has the form of an id; choose another"
	}
	return ""
}
