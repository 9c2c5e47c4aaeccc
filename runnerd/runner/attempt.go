package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// attempt is one attempt while it is supervised. Its state is on disk and in its process;
// this holds only what the goroutines share.
type attempt struct {
	runner *runner
	ref    api.AttemptRef
	dir    spool.Attempt
	// record is replaced as a whole, only by superviseLoop, and read by all goroutines.
	record atomic.Pointer[spool.Record]
	log    *slog.Logger
	// adopted means that an earlier runnerd took the attempt, and may have accepted it.
	adopted bool

	// cancel is closed when the control plane cancels the attempt.
	cancel     chan struct{}
	cancelOnce sync.Once
	// executor runs the job process.
	executor executor
	// startedAt is when the process was started, by the monotonic clock. specSeen means that the job process
	// has its spec, and specRead that specLimit is the time limit of the spec. Only superviseLoop uses them.
	startedAt          time.Time
	specSeen, specRead bool
	specLimit          time.Duration
	// unsavedTermination is the ending that could not be written to disk. Only superviseLoop uses it.
	unsavedTermination *spool.Termination
	// concluded is closed when the process has ended and the result is known.
	concluded chan struct{}
	// done is closed when nothing is left to do for the attempt.
	done chan struct{}

	supersededOnce sync.Once
	// install is the id of the job's install; empty until the spec is available.
	install atomic.Pointer[string]
}

func newAttempt(r *runner, dir spool.Attempt, record spool.Record) *attempt {
	a := &attempt{
		runner: r, ref: api.AttemptRef{Job: record.Job, Attempt: record.Attempt}, dir: dir,
		cancel: make(chan struct{}), concluded: make(chan struct{}), done: make(chan struct{}),
	}
	a.record.Store(&record)
	about := slog.New(installHandler{Handler: r.log.Handler(), install: &a.install})
	a.log = about.With("job", record.Job, "attempt", record.Attempt, "kind", record.Kind)
	a.executor = newExecutor(a)
	return a
}

// installHandler adds the install of an attempt to its log lines, once it is known.
type installHandler struct {
	slog.Handler
	install *atomic.Pointer[string]
}

// Handle writes one line.
func (h installHandler) Handle(ctx context.Context, line slog.Record) error {
	if id := h.install.Load(); id != nil {
		line.AddAttrs(slog.String("install", *id))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs returns a handler that also adds the install.
func (h installHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return installHandler{Handler: h.Handler.WithAttrs(attrs), install: h.install}
}

// WithGroup returns a handler that also adds the install.
func (h installHandler) WithGroup(name string) slog.Handler {
	return installHandler{Handler: h.Handler.WithGroup(name), install: h.install}
}

// setInstall sets the install from the spec.
func (a *attempt) setInstall(spec api.JobSpec) {
	if id := policy.InstallOf(spec); id != "" && a.install.Load() == nil {
		a.install.Store(&id)
	}
}

// name returns <job>/<number>.
func (a *attempt) name() string { return fmt.Sprintf("%s/%d", a.ref.Job, a.ref.Attempt) }

// url returns the URL of the attempt in the runner API, which its job process calls.
func (a *attempt) url() string {
	return fmt.Sprintf("%s/runner/v1/jobs/%s/attempts/%d", strings.TrimRight(a.runner.URL, "/"), a.ref.Job, a.ref.Attempt)
}

// isInspection reports whether the job only looks into what is deployed.
func (a *attempt) isInspection() bool {
	return api.IsInspection(a.record.Load().Kind)
}

func (a *attempt) isAccepted() bool {
	return a.record.Load().Accepted()
}

func (a *attempt) isConcluded() bool {
	select {
	case <-a.concluded:
		return true
	default:
		return false
	}
}

// requestCancel cancels the attempt. It may be called several times.
func (a *attempt) requestCancel() {
	a.cancelOnce.Do(func() {
		a.log.Info("the job is to be cancelled")
		close(a.cancel)
	})
}

func (a *attempt) noteSuperseded() {
	a.supersededOnce.Do(func() {
		a.log.Warn("another attempt replaced this one; it continues and delivers what it did")
	})
}

// observed is the observed state of an attempt.
type observed struct {
	// Accepted means that the control plane assigned the attempt to this runner.
	Accepted bool
	// Started means that a process may have run.
	Started bool
	// Alive means that its process runs.
	Alive bool
	// Final means that the result to deliver is known.
	Final bool
}

// step is the next step of an attempt.
type step string

// The verbs, in the order of a job's life.
const (
	accept   step = "accept"
	start    step = "start"
	watch    step = "watch"
	conclude step = "conclude"
	deliver  step = "deliver"
)

// next returns the next step. A live process is always watched: nothing may be reported about
// a job that still runs.
func (o observed) next() step {
	switch {
	case o.Alive:
		return watch
	case o.Final:
		return deliver
	case o.Started:
		return conclude
	case o.Accepted:
		return start
	default:
		return accept
	}
}

func observe(dir spool.Attempt, accepted bool) (seen observed, err error) {
	seen.Accepted = accepted
	if seen.Alive, err = dir.Alive(); err != nil {
		return seen, err
	}
	if _, seen.Started, err = dir.Started(); err != nil {
		return seen, err
	}
	if !seen.Started { // programs of a pod can remove the file of Started
		if _, seen.Started, err = dir.Pod(); err != nil {
			return seen, err
		}
	}
	_, seen.Final, err = dir.Final()
	return seen, err
}

// superviseLoop runs the steps of an attempt until its result is known, and waits
// until the shipper has delivered it. It returns early when ctx ends, and then
// leaves everything as it is.
func (a *attempt) superviseLoop(ctx context.Context) {
	defer close(a.done)
	defer a.runner.removeAttempt(a)
	task := status.Register(ctx, "attempt "+a.name())
	defer task.Unregister()
	var shipping sync.WaitGroup
	defer shipping.Wait()
	shipped := false
	for ctx.Err() == nil {
		if a.isAccepted() && !shipped {
			shipped = true
			shipping.Go(func() { a.shipLoop(ctx) })
		}
		seen, err := observe(a.dir, a.isAccepted())
		if err == nil {
			next := seen.next()
			task.SetWorking(string(next))
			if next == deliver {
				close(a.concluded)
				a.runner.wake()
				if !shipped { // never accepted: only the result is delivered
					a.shipLoop(ctx)
				}
				return
			}
			err = a.do(ctx, next)
		}
		if errors.Is(err, errWithdrawn) {
			return
		}
		task.ReportResult(err)
		if err != nil && ctx.Err() == nil {
			// The disk is full or missing, and without it nothing can be decided.
			a.log.Error("cannot supervise the job; retrying", "error", err)
			backoff.Pause(ctx, a.runner.Timing.HeartbeatInterval)
		}
	}
}

func (a *attempt) do(ctx context.Context, next step) error {
	if next == accept || next == start {
		// The control plane may have delayed its answer, or the machine was off overnight.
		forbidden, err := a.updateRule()
		if err != nil {
			return err
		}
		if forbidden != nil {
			return a.returnOffer(forbidden.Error())
		}
	}
	switch next {
	case accept:
		return a.accept(ctx)
	case start:
		return a.executor.start(ctx)
	case watch:
		return a.watch(ctx)
	default:
		return a.conclude(ctx)
	}
}

// updateRule makes the current rule of the runner file the one that the attempt is checked against: until the job has
// its spec, the owner can still forbid it. It returns why the current rule forbids the attempt, if it does.
func (a *attempt) updateRule() (forbidden, err error) {
	rule, _ := a.runner.rules.currentRule()
	current := *a.record.Load()
	if err := checkOffer(rule, current.Kind, current.ComponentKind, current.Copies); err != nil {
		return err, nil
	}
	record, err := withRule(current, rule)
	if err != nil || reflect.DeepEqual(record, current) {
		return nil, err
	}
	if !bytes.Equal(record.Executor, current.Executor) {
		return errors.New("the runner file was changed and has jobs run elsewhere now"), nil
	}
	return nil, a.saveRecord(record)
}

// returnOffer ends an attempt that has not started, so that it can be offered again.
func (a *attempt) returnOffer(reason string) error {
	a.log.Warn("returning a job that has not started", "reason", reason)
	return a.dir.SaveFinal(api.JobResult{Status: api.JobResultStatusLost, Error: "nothing of this job ran, so it can be " +
		"started again: " + reason})
}

// fail stores a failed result for an attempt whose process could not be started.
func (a *attempt) fail(err error) error {
	return a.dir.SaveResult(api.JobResult{Status: api.JobResultStatusFailed, Error: err.Error()})
}

func (a *attempt) setToken(token string) error {
	record := *a.record.Load()
	record.Token = token
	return a.saveRecord(record)
}

func (a *attempt) saveRecord(record spool.Record) error {
	if err := a.dir.SaveRecord(record); err != nil {
		return err
	}
	a.record.Store(&record)
	return nil
}
