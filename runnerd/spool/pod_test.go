package spool

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
)

// TestHandoverIsTakenOnce checks that of the job process and the runner, which takes back what the job process needs,
// exactly one gets it.
func TestHandoverIsTakenOnce(t *testing.T) {
	for range 50 {
		attempt, err := Spool{Root: t.TempDir()}.Create(Record{Job: "job_1", Attempt: 1})
		if err := errors.Join(err, attempt.SavePod(Pod{}), attempt.SaveHandover([]byte("token"))); err != nil {
			t.Fatal(err)
		}
		var taken atomic.Int32
		var all sync.WaitGroup
		for n := range 4 {
			all.Go(func() {
				if n == 0 { // the runner
					if withdrawn, err := attempt.WithdrawHandover(); err != nil {
						t.Error(err)
					} else if withdrawn {
						taken.Add(1)
					}
					return
				}
				content, err := TakeHandover(attempt.HandoverFile())
				if err == nil && string(content) == "token" {
					taken.Add(1)
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("it gets %q, %v", content, err)
				}
			})
		}
		all.Wait()
		if taken.Load() != 1 {
			t.Fatalf("%d got it", taken.Load())
		}
	}
}
