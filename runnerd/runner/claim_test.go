package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// TestTimeToRegister checks how long a machine takes to register beyond what it waits for: nothing if all answer at
// once, and at most ten seconds after a cloud, the control plane or the vendor who confirms it has answered.
func TestTimeToRegister(t *testing.T) {
	refusal := func(status int, code string) error { return &apiclient.ResponseError{Status: status, Code: code} }
	for name, c := range map[string]struct {
		away time.Duration // how long the answer is err
		err  error
		late time.Duration // the most that the machine takes after that
	}{
		"all answer":                         {},
		"the cloud throttles":                {5 * time.Second, refusal(503, codeUnavailable), 10 * time.Second},
		"a nonce is too old":                 {time.Millisecond, refusal(403, codeNonce), time.Second},
		"the vendor confirms at lunch":       {time.Hour, refusal(409, codeWaiting), 10 * time.Second},
		"the control plane is not there yet": {5 * time.Minute, refusal(502, ""), 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &runner{Options: Options{Timing: timing.Default()}}
				begin, tries := time.Now(), 0
				err := apiclient.Retry(t.Context(), r.claimPace(), func(context.Context) error {
					tries++
					if time.Since(begin) < c.away {
						return c.err
					}
					return nil
				})
				took := time.Since(begin) // of the simulated clock, which only the pauses move
				if late := took - c.away; err != nil || c.away == 0 && (took > 0 || tries != 1) || late > c.late {
					t.Errorf("registered %s after it could, in %d tries: %v", late, tries, err)
				}
				t.Logf("%d tries in %s", tries, took)
			})
		})
	}
}
