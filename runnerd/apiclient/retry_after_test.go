package apiclient_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

// TestPersistWaitsAsLongAsItIsAsked checks that Retry waits as long as the server
// requests, up to a limit.
func TestPersistWaitsAsLongAsItIsAsked(t *testing.T) {
	for after, want := range map[string]time.Duration{"7": 7 * time.Second, "": 0, "soon": 0, "-1": 0,
		"86400": 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			begun, tries := time.Now(), 0
			err := apiclient.Retry(t.Context(), apiclient.RetryPolicy{First: time.Second, Max: time.Second},
				func(context.Context) error {
					if tries++; tries > 1 {
						return nil
					}
					return apiclient.CheckResponse("lease", &http.Response{StatusCode: http.StatusTooManyRequests,
						Header: http.Header{"Retry-After": {after}}}, nil)
				})
			if took := time.Since(begun); err != nil || took < want || took > want+time.Second {
				t.Errorf("Retry-After %q: came again after %s, %v", after, took, err)
			}
		})
	}
}
