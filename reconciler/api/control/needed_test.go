package control

import (
	"net/http"
	"testing"
)

// TestRouteThatNobodyDecidedAbout checks the defaults: reading requires viewer, changing requires
// admin.
func TestRouteThatNobodyDecidedAbout(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]role{
		http.MethodGet: viewer, http.MethodPost: admin, http.MethodPatch: admin, http.MethodDelete: admin,
	} {
		if got := neededFor("BrandNew", method); got != want {
			t.Errorf("%s needs %s, want %s", method, got, want)
		}
	}
}
