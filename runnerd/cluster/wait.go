package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

const (
	// pollFirst and pollMax bound the pause between two polls; the pause
	// grows by half each time.
	pollFirst, pollMax = 250 * time.Millisecond, 3 * time.Second
	// progressEvery is how often the log reports progress.
	progressEvery = 10 * time.Second
	// finalAfter is how long an object has to be final before the wait ends: its status may
	// still be that of the last rollout.
	finalAfter = 10 * time.Second
)

// NotReadyError is the error of a wait in which an object did not become ready.
type NotReadyError struct {
	// Object is the object in the worst condition, and Reason is its reason.
	Object api.ObjectRef
	Reason string
	// Others is the number of other objects that are not ready.
	Others int
	// Waited is the duration of the wait. Final means that a longer wait would not have helped.
	Waited time.Duration
	Final  bool
}

// Error returns one sentence with a remedy.
func (e *NotReadyError) Error() string {
	others := ""
	if e.Others > 0 {
		others = fmt.Sprintf(", nor are %d other objects", e.Others)
	}
	ending, remedy := fmt.Sprintf("after %s", e.Waited.Round(time.Second)),
		", and a longer deploy_timeout gives it more time"
	if e.Final {
		ending, remedy = "and will not become ready without a change", ""
	}
	return fmt.Sprintf("%s is not ready %s%s: %s; its events and last lines are in the step's log%s",
		DisplayName(e.Object),
		ending, others, e.Reason, remedy)
}

// Wait waits until all objects are ready, for at most timeout, and logs its progress. Otherwise
// the error is a *NotReadyError or that of ctx, the health is that of the last successful poll,
// and the log has the events and last log lines of the objects that are not ready.
// Wait continues while the API server does not answer.
func (c *Cluster) Wait(ctx context.Context, refs []api.ObjectRef, timeout time.Duration) (api.Health, error) {
	w := &wait{cluster: c, refs: refs, started: time.Now(), logged: map[string]bool{},
		finalSince: map[api.ObjectRef]time.Time{}, loggedAt: time.Now()}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done, err := w.run(limited)
	health := healthOf(w.last)
	switch {
	case done:
		return health, nil
	case ctx.Err() != nil:
		return health, fmt.Errorf("wait for the objects to become ready: %w", context.Cause(ctx))
	case err != nil && w.last == nil:
		return health, err // no poll succeeded
	}
	// The explanation may take a little longer than the wait.
	telling, stop := context.WithTimeout(ctx, detailsLimit)
	defer stop()
	c.logDetails(telling, w.unready())
	return health, w.failure()
}

// wait is the state of one call of Wait.
type wait struct {
	cluster *Cluster
	refs    []api.ObjectRef
	started time.Time
	// last is the result of the last successful poll.
	last []condition
	// logged holds the keys of the messages that are logged once; loggedAt is when
	// progress was last logged.
	logged   map[string]bool
	loggedAt time.Time
	// finalSince maps each final object to the time since which it is final.
	finalSince map[api.ObjectRef]time.Time
}

// run polls until all objects are ready, and reports whether they are.
func (w *wait) run(ctx context.Context) (bool, error) {
	var trouble error
	for pause := pollFirst; ; pause = min(pause*3/2, pollMax) {
		err := w.poll(ctx)
		switch {
		case err == nil:
			trouble = nil
			if len(w.unready()) == 0 {
				return true, nil
			}
			w.logProgress()
			if w.hasFailed() {
				return false, nil
			}
		case ctx.Err() != nil:
			if trouble == nil {
				trouble = err
			}
			return false, trouble
		default:
			trouble = err
			if !isTemporary(err) {
				return false, err
			}
			w.logOnce("", "%v; still waiting", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false, trouble
		case <-timer.C:
		}
	}
}

// poll polls the objects that were not ready in the last poll. When all of them are ready,
// it polls all objects again.
func (w *wait) poll(ctx context.Context) error {
	var places []int
	var refs []api.ObjectRef
	for i, each := range w.last {
		if !each.ready {
			places, refs = append(places, i), append(refs, each.ref)
		}
	}
	if len(places) > 0 {
		looked, err := w.cluster.evaluate(ctx, refs)
		if err != nil {
			return err
		}
		for i, at := range places {
			w.last[at] = looked[i]
		}
		if len(w.unready()) > 0 {
			return nil
		}
	}
	looked, err := w.cluster.evaluate(ctx, w.refs)
	if err == nil {
		w.last = looked
	}
	return err
}

// unready returns the conditions of the objects that are not ready, degraded ones first.
func (w *wait) unready() []condition {
	var bad, others []condition
	for _, each := range w.last {
		switch {
		case each.ready:
		case each.status == api.ObjectHealthStatusDegraded:
			bad = append(bad, each)
		default:
			others = append(others, each)
		}
	}
	return append(bad, others...)
}

// hasFailed reports whether an object has been final for long enough.
func (w *wait) hasFailed() bool {
	for _, each := range w.last {
		if !each.final || each.ready {
			delete(w.finalSince, each.ref)
			continue
		}
		since, known := w.finalSince[each.ref]
		if !known {
			since = time.Now()
			w.finalSince[each.ref] = since
		}
		if each.ref.Kind == "Job" || time.Since(since) >= finalAfter {
			return true
		}
	}
	return false
}

// logProgress logs the number of ready objects from time to time, and each degraded object
// immediately but only once.
func (w *wait) logProgress() {
	unready := w.unready()
	for _, each := range unready {
		if each.status == api.ObjectHealthStatusDegraded {
			w.logOnce(DisplayName(each.ref)+" "+firstNonEmpty(each.word, each.reason), "%s: %s", DisplayName(each.ref),
				each.reason)
		}
	}
	if time.Since(w.loggedAt) < progressEvery {
		return
	}
	w.loggedAt = time.Now()
	first := unready[0]
	w.cluster.log.Info("%d of %d ready: waiting for %s (%s)", len(w.refs)-len(unready), len(w.refs),
		DisplayName(first.ref), first.reason)
}

// maxLogged bounds the number of messages that are logged once.
const maxLogged = 50

// logOnce logs a warning once for each key, or once for each message when key is empty.
func (w *wait) logOnce(key, format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if key == "" {
		key = said
	}
	if w.logged[key] || len(w.logged) >= maxLogged {
		return
	}
	w.logged[key] = true
	w.cluster.log.Warn("%s", said)
}

// failure returns the error of a wait that did not succeed.
func (w *wait) failure() error {
	unready := w.unready()
	if len(unready) == 0 {
		// Cannot happen: run reports success in this case.
		return errors.New("the objects were ready, and are no longer checked")
	}
	first := unready[0]
	for _, each := range unready {
		if each.final {
			first = each
			break
		}
	}
	return &NotReadyError{Object: first.ref, Reason: first.reason, Others: len(unready) - 1,
		Waited: time.Since(w.started), Final: w.hasFailed()}
}
