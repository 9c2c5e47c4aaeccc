package joblog_test

import (
	"errors"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
)

// readLog returns the whole log of a job.
func readLog(t testing.TB, w *jobstest.World, org, job string) (chunks []api.LogChunk, err error) {
	t.Helper()
	err = w.Logs.Read(t.Context(), org, job, func(page []api.LogChunk) error {
		chunks = append(chunks, page...)
		return nil
	})
	return chunks, err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want one that is: %v", err, want)
	}
}
