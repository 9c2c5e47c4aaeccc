package runner

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/grant"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// PolicyFile returns the default path of a runner file.
func PolicyFile(dir string) string { return filepath.Join(dir, "runner.toml") }

// rules holds the current rule of the runner file.
type rules struct {
	watched policy.FileWatcher // only for the polling goroutine
	log     *slog.Logger
	options Options

	mutex   sync.Mutex
	rule    policy.Rule
	changed chan struct{} // closed and replaced when rule changes
	// unusable are the roles under which the cloud let no job start, by name.
	unusable map[string]unusableRole
}

func newRules(options Options) *rules {
	held := &rules{watched: policy.FileWatcher{Path: options.Policy, Required: options.Policy != ""}, log: options.Log,
		options: options, changed: make(chan struct{}), unusable: map[string]unusableRole{}}
	if options.Policy == "" {
		held.watched.Path = PolicyFile(options.Dir)
	}
	held.rule = held.read()
	held.logRule()
	return held
}

// currentRule returns the rule, and a channel that is closed when it changes.
func (r *rules) currentRule() (policy.Rule, <-chan struct{}) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.rule, r.changed
}

// read returns the rule of the file and of the runner's flags.
func (r *rules) read() policy.Rule {
	rule := r.watched.Reload(time.Now()).PausedIn(r.options.Dir)
	rule.Install = r.options.Install
	rule.Roles.BreakGlass = slices.Concat(rule.Roles.BreakGlass, r.options.BreakGlass)
	all, err := grant.List(r.options.Dir)
	if err != nil {
		r.log.Warn("jobs under break-glass roles wait", "error", err)
	}
	rule.Roles.Granted = append(rule.Roles.Granted, grant.Current(all, time.Now())...)
	return rule
}

// reload reads the file again.
func (r *rules) reload() {
	rule := r.read()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.apply(rule)
}

// apply makes a rule the current one, with the roles that are unusable now. The caller holds the mutex.
func (r *rules) apply(rule policy.Rule) {
	rule.Roles.Unusable = r.unusableRoles()
	if reflect.DeepEqual(rule, r.rule) {
		return
	}
	r.rule = rule
	close(r.changed)
	r.changed = make(chan struct{})
	r.logRule()
}

func (r *rules) logRule() {
	var said []any
	for _, line := range r.rule.Lines() {
		said = append(said, line[0], line[1])
	}
	if r.rule.Off {
		r.log.Warn("this runner takes no jobs; running jobs continue, and requests to look into what runs end",
			append([]any{"file", r.watched.Path}, said...)...)
		return
	}
	r.log.Info("what this runner takes", append([]any{"file", r.watched.Path}, said...)...)
}

// endForbidden cancels the requests of people to look into what runs that the owner does not allow any more, for
// example because the runner was paused.
func (r *runner) endForbidden() {
	rule, _ := r.rules.currentRule()
	for _, a := range r.listAttempts() {
		if a.isInspection() && !a.isConcluded() && rule.Check(a.record.Load().Kind, "") != nil {
			a.requestCancel()
		}
	}
}

// ruleLoop periodically checks the runner file and the clock, and does so
// immediately after a signal.
func (r *runner) ruleLoop(ctx context.Context) {
	task := status.Register(ctx, "runner file")
	defer task.Unregister()
	task.SetWaiting("for the next check of the runner file and the clock")
	look := time.NewTicker(r.Timing.PolicyInterval)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-r.Reload:
		case <-ctx.Done():
			return
		}
		r.rules.reload()
		r.endForbidden()
	}
}
