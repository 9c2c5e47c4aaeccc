package middleware_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
)

// TestGenerations: a client of another generation gets an error that names the side to update,
// before the handler runs; a client without the header is accepted.
func TestGenerations(t *testing.T) {
	for said, want := range map[string]struct {
		status int
		code   string
		words  string
	}{
		"":                              {status: http.StatusOK},
		strconv.Itoa(version.API):       {status: http.StatusOK},
		strconv.Itoa(version.API - 1):   {http.StatusUpgradeRequired, "client_too_old", "Update the client"},
		strconv.Itoa(version.API + 1):   {http.StatusUpgradeRequired, "client_too_new", "Update the control plane"},
		"2000000000":                    {http.StatusUpgradeRequired, "client_too_new", "Update the control plane"},
		"99999999999999999999999999999": {http.StatusBadRequest, "bad_request", "whole number"},
		"-1":                            {http.StatusBadRequest, "bad_request", "whole number"},
		"one":                           {http.StatusBadRequest, "bad_request", "whole number"},
	} {
		t.Run(said, func(t *testing.T) {
			done := false
			server := httptest.NewServer(middleware.New(http.HandlerFunc(func(http.ResponseWriter,
				*http.Request) {
				done = true
			}), middleware.Options{}))
			defer server.Close()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if said != "" {
				r.Header.Set("Nuon-Api", said)
			}
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close() //nolint:errcheck // the body was read
			if got.StatusCode != want.status || done != (want.status == http.StatusOK) {
				t.Errorf("answered %d, done: %t", got.StatusCode, done)
			}
			if got.Header.Get("Nuon-Api") != strconv.Itoa(version.API) ||
				got.Header.Get("Nuon-Version") != version.Number {
				t.Errorf("headers: %v", got.Header)
			}
			if upgrade := got.Header.Get("Upgrade"); (upgrade == "nuon-api/"+strconv.Itoa(
				version.API)) != (want.status == http.StatusUpgradeRequired) {
				t.Errorf("Upgrade: %q", upgrade)
			}
			if want.code == "" {
				return
			}
			var p api.Problem
			if err := json.NewDecoder(got.Body).Decode(&p); err != nil || p.Code != want.code ||
				!strings.Contains(p.Detail, want.words) {
				t.Errorf("%+v, %v", p, err)
			}
			if want.status == http.StatusUpgradeRequired &&
				(!strings.Contains(p.Title, version.Number) || !strings.Contains(p.Title, "generation "+said)) {
				t.Errorf("%q does not say who speaks what", p.Title)
			}
		})
	}
}
