// Package journeys_test runs the command lines of a vendor against the real system, and checks the
// communication between a nuon and a control plane of different generations.
package journeys_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
)

// aged turns the real client into one of another generation, which it sends with every request.
type aged struct {
	below http.RoundTripper
	by    int
}

func (a aged) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(version.HeaderAPI, strconv.Itoa(version.API+a.by))
	return a.below.RoundTrip(r)
}

// TestARealRefusal checks that the real API refuses a client of another generation before it does
// anything, and that the real client exits with the matching code and a message that names the side
// to update.
func TestARealRefusal(t *testing.T) {
	served := 0
	s := httptest.NewServer(middleware.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served++
		_ = json.NewEncoder(w).Encode(api.Whoami{Org: "acme"})
	}), middleware.Options{}))
	defer s.Close()
	for by, says := range map[int]string{0: "", -1: "Update the client", 1: "Update the control plane"} {
		served = 0
		client, err := apiclient.New(contexts.Context{URL: s.URL, Token: "tok"},
			func(below http.RoundTripper) http.RoundTripper { return aged{below, by} })
		if err != nil {
			t.Fatal(err)
		}
		me, err := apiclient.Decode[api.Whoami](client.Whoami(t.Context()))
		if by == 0 {
			if err != nil || me.Org != "acme" || served != 1 {
				t.Errorf("the same generation: %+v, %v", me, err)
			}
			continue
		}
		if exitcode.CodeOf(err) != exitcode.Unreachable || !strings.Contains(err.Error(), says) || served != 0 {
			t.Errorf("%+d: served %d times, ended with %v", by, served, err)
		}
	}
}
