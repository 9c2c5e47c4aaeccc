package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// TestALargePluginCacheIsRemoved checks that a provider cache that is too large is removed when no attempt runs, and
// that another one stays.
func TestALargePluginCacheIsRemoved(t *testing.T) {
	root := t.TempDir()
	a := &attempt{}
	a.record.Store(&spool.Record{Job: "job_1", Attempt: 1})
	r := &runner{Options: Options{Dir: root}, log: slog.New(slog.DiscardHandler), attempts: map[string]*attempt{},
		idle: make(chan struct{}, 1)}
	r.addAttempt(a)
	caches := tfbinary.PluginCaches(root)
	for i, bytes := range []int64{1 << 30, 1 << 40} {
		provider := filepath.Join(caches[i], "example.com", "provider")
		if err := errors.Join(os.MkdirAll(filepath.Dir(provider), 0o700), os.WriteFile(provider, nil, 0o600),
			os.Truncate(provider, bytes)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...bool) {
		t.Helper()
		for i, cache := range caches {
			if _, err := os.Stat(cache); (err == nil) != want[i] {
				t.Errorf("%s: %v", cache, err)
			}
		}
		if left, err := filepath.Glob(filepath.Join(root, "tools", "*.removed")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.cleanPluginCaches(ended)
	check(true, true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.cleanPluginCaches(t.Context())
	}()
	r.removeAttempt(a)
	<-done
	check(true, false)
}
