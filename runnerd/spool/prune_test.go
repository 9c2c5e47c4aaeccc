package spool_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// TestClearRefused checks that old attempts are removed, except for a Terraform state
// that exists nowhere else.
func TestClearRefused(t *testing.T) {
	s := spool.Spool{Root: t.TempDir()}
	old := time.Now().Add(-time.Hour)
	aside := func(job string, prepare func(spool.Attempt) error, at time.Time) string {
		attempt, err := s.Create(spool.Record{Job: job, Attempt: 1})
		if err == nil {
			err = prepare(attempt)
		}
		if err != nil {
			t.Fatal(err)
		}
		moved, err := s.MoveToUndelivered(attempt)
		if err == nil {
			err = os.Chtimes(moved, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		return moved
	}
	nothing := func(spool.Attempt) error { return nil }
	result := aside("result", nothing, old)
	young := aside("young", nothing, time.Now())
	waiting := aside("waiting", func(a spool.Attempt) error { return a.AddState(api.State{}, 1) }, old)
	refused := aside("refused", func(a spool.Attempt) error {
		if err := a.AddState(api.State{}, 1); err != nil {
			return err
		}
		return spool.RejectState(filepath.Join(a.StateDir(), "000001.json"))
	}, old)
	errored := filepath.Join(s.Root, spool.UndeliveredDir, "job.1-errored.tfstate")
	if err := os.WriteFile(errored, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(errored, old, old); err != nil {
		t.Fatal(err)
	}
	removed, kept, err := s.PruneUndelivered(time.Now().Add(-time.Minute))
	if err != nil || removed != 1 || kept != 3 {
		t.Errorf("%d removed, %d kept: %v", removed, kept, err)
	}
	for path, there := range map[string]bool{result: false, young: true, waiting: true, refused: true, errored: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	if _, _, err := (spool.Spool{Root: t.TempDir()}).PruneUndelivered(time.Now()); err != nil {
		t.Errorf("where there is nothing: %v", err)
	}
}
