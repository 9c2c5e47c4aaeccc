package runner

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// PolicyFile is where a runner's file lies when no other is named.
func PolicyFile(dir string) string { return filepath.Join(dir, "runner.toml") }

// rules holds what the runner file allows now.
type rules struct {
	watched policy.Watched // only for the goroutine that looks
	log     *slog.Logger

	mutex   sync.Mutex
	rule    policy.Rule
	changed chan struct{} // closed when rule changes, and made anew
}

func newRules(options Options) *rules {
	held := &rules{watched: policy.Watched{Path: options.Policy, Required: options.Policy != ""}, log: options.Log, changed: make(chan struct{})}
	if options.Policy == "" {
		held.watched.Path = PolicyFile(options.Dir)
	}
	held.rule = held.watched.Look(time.Now())
	held.say()
	return held
}

// now gives the rule, and a channel that is closed when there is another.
func (r *rules) now() (policy.Rule, <-chan struct{}) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.rule, r.changed
}

// look reads the file anew.
func (r *rules) look() {
	rule := r.watched.Look(time.Now())
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if reflect.DeepEqual(rule, r.rule) {
		return
	}
	r.rule = rule
	close(r.changed)
	r.changed = make(chan struct{})
	r.say()
}

func (r *rules) say() {
	var said []any
	for _, line := range r.rule.Lines() {
		said = append(said, line[0], line[1])
	}
	if r.rule.Off {
		r.log.Warn("this runner takes no jobs; what runs goes on", append([]any{"file", r.watched.Path}, said...)...)
		return
	}
	r.log.Info("what this runner takes", append([]any{"file", r.watched.Path}, said...)...)
}

// ruleLoop looks at the runner file and at the clock. It waits for the next look, or for a signal to look at once.
func (r *runner) ruleLoop(ctx context.Context) {
	task := status.Enter(ctx, "runner file")
	defer task.Leave()
	task.Waits("for the next look at the runner file and the clock")
	look := time.NewTicker(r.Timing.Rules)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-r.Reload:
		case <-ctx.Done():
			return
		}
		r.rules.look()
	}
}
