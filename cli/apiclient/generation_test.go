package apiclient

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// TestGenerations checks that every request carries its API generation, that a response of
// another generation is an error with any status, and that the error names the side to update.
func TestGenerations(t *testing.T) {
	for name, c := range map[string]struct {
		theirs, number string
		status         int
		code           int
		says           []string
	}{
		"the same":      {"1", "0.9.0", 200, exitcode.Done, nil},
		"says nothing":  {"", "", 200, exitcode.Done, nil},
		"says nonsense": {"one", "", 200, exitcode.Done, nil},
		"a newer one": {"2", "2.0.1", 200, exitcode.Unreachable,
			[]string{"this nuon (version " + version.Number +
				", API generation 1) is too old for the control plane (version 2.0.1, API generation 2)", "update nuon"}},
		"a newer one's no": {"2", "2.0.1", 426, exitcode.Unreachable,
			[]string{"is too old for the control plane (version 2.0.1, API generation 2): update nuon"}},
		"a newer one's 404": {"2", "", 404, exitcode.Unreachable,
			[]string{"is too old for the control plane (version unknown, API generation 2): update nuon"}},
		"an older one": {"0", "0.0.1", 200, exitcode.Unreachable,
			[]string{"the control plane (version 0.0.1, API generation 0) is too old for this nuon",
				"update the control plane"}},
		"an older one's no": {"0", "0.0.1", 426, exitcode.Unreachable,
			[]string{"the control plane (version 0.0.1, API generation 0) is too old for this nuon"}},
		"a refusal in words": {"", "", 426, exitcode.Unreachable, []string{"in its own words"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := plane(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get(version.HeaderAPI); got != strconv.Itoa(version.API) {
					t.Errorf("the request is of generation %q", got)
				}
				for header, value := range map[string]string{version.HeaderAPI: c.theirs,
					version.HeaderNumber: c.number} {
					if value != "" {
						w.Header().Set(header, value)
					}
				}
				w.WriteHeader(c.status)
				if c.status == http.StatusOK {
					_ = json.NewEncoder(w).Encode(api.App{Name: "hello"})
					return
				}
				_ = json.NewEncoder(w).Encode(
					api.Problem{Status: c.status, Code: "client_too_old", Title: "in its own words"})
			})
			_, err := Decode[api.App](client.GetApp(t.Context(), "hello"))
			if exitcode.CodeOf(err) != c.code {
				t.Fatalf("ended with %v", err)
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("says %q, not %q", err, want)
				}
			}
		})
	}
}
