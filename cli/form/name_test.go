package form

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/id"
)

// TestNameProblem checks the names of new apps and installs: no name has the form of an id, because commands find both
// by either.
func TestNameProblem(t *testing.T) {
	for _, name := range []string{"acme", "1", "ins_acme", "a-b_c", strings.Repeat("a", 63)} {
		if problem := NameProblem(name); problem != "" {
			t.Errorf("%q %s", name, problem)
		}
	}
	for _, name := range []string{"", "Acme", "a b", strings.Repeat("a", 64), id.New("ins"), id.New("app"),
		"ins_" + id.New("ins")[3:]} {
		if NameProblem(name) == "" {
			t.Errorf("%q is accepted", name)
		}
	}
}
