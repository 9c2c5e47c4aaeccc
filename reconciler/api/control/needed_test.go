package control

import (
	"net/http"
	"testing"
)

// TestRouteThatNobodyDecidedAbout: reading is a viewer's, changing only an admin's, until somebody decides.
func TestRouteThatNobodyDecidedAbout(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]role{http.MethodGet: viewer, http.MethodPost: admin, http.MethodPatch: admin, http.MethodDelete: admin} {
		if got := neededFor("BrandNew", method); got != want {
			t.Errorf("%s needs %s, want %s", method, got, want)
		}
	}
}
