package runner

import (
	"log/slog"
	"strconv"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// TestAttemptsAreReadWhileTheyAreSaved checks, by the race detector, that an attempt can be saved with another rule
// while its lease is renewed and while the owner's rule is applied to it.
func TestAttemptsAreReadWhileTheyAreSaved(t *testing.T) {
	t.Parallel()
	r := &runner{rules: &rules{rule: policy.Rule{}}, log: slog.New(slog.DiscardHandler)}
	record := spool.Record{Job: "job_1", Attempt: 1, Kind: string(api.JobSpecKindLogs), Token: "attempt-token"}
	dir, err := spool.Spool{Root: t.TempDir()}.Create(record)
	if err != nil {
		t.Fatal(err)
	}
	a := newAttempt(r, dir, record)
	r.attempts = map[string]*attempt{a.name(): a}
	const times = 50
	var both sync.WaitGroup
	both.Go(func() {
		for i := range times {
			saved := record
			saved.Secrets = []byte(strconv.Itoa(i))
			if err := a.saveRecord(saved); err != nil {
				t.Error(err)
				return
			}
		}
	})
	both.Go(func() {
		for range times {
			r.endForbidden()
			if accepted := r.acceptedAttempts(); accepted[api.AttemptRef{Job: "job_1", Attempt: 1}] != a {
				t.Errorf("%v", accepted)
				return
			}
		}
	})
	both.Wait()
}
