package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

const (
	// lookFirst and lookMost bound the pause between two looks at what is waited for; it grows by half.
	lookFirst, lookMost = 250 * time.Millisecond, 3 * time.Second
	// tellEvery is how often the log says what is waited for.
	tellEvery = 10 * time.Second
	// finalAfter is how long an object has to be beyond hope before the wait ends: a controller may still be at the sentence that it
	// said of the last rollout.
	finalAfter = 10 * time.Second
)

// NotReadyError is the end of a wait in which an object did not become ready.
type NotReadyError struct {
	// Object is the one that is worst, and Reason what is said of it.
	Object api.ObjectRef
	Reason string
	// Others is how many more are not ready.
	Others int
	// Waited is how long; Final says that waiting any longer would not have helped.
	Waited time.Duration
	Final  bool
}

// Error gives one sentence, and what to do.
func (e *NotReadyError) Error() string {
	others := ""
	if e.Others > 0 {
		others = fmt.Sprintf(", nor are %d other objects", e.Others)
	}
	ending, remedy := fmt.Sprintf("after %s", e.Waited.Round(time.Second)), ", and a longer deploy_timeout gives it more time"
	if e.Final {
		ending, remedy = "and does not become so by itself", ""
	}
	return fmt.Sprintf("%s is not ready %s%s: %s; its events and last lines are in the step's log%s", Name(e.Object), ending, others, e.Reason, remedy)
}

// Wait waits until all objects are ready, at most timeout. What it waits for goes to the log now and then. When it ends otherwise, the error is a
// *NotReadyError, or ctx's; the health is that of the last look, and events and last log lines of what is not ready
// are in the log. While the API server does not answer the wait goes on.
func (c *Cluster) Wait(ctx context.Context, refs []api.ObjectRef, timeout time.Duration) (api.Health, error) {
	w := &wait{cluster: c, refs: refs, begun: time.Now(), told: map[string]bool{}, hopeless: map[api.ObjectRef]time.Time{}, toldAt: time.Now()}
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
		return health, err // not one look succeeded
	}
	// What follows explains; it may take a moment longer than the wait.
	telling, stop := context.WithTimeout(ctx, tellingLimit)
	defer stop()
	c.tell(telling, w.unready())
	return health, w.failure()
}

// wait is one call of Wait.
type wait struct {
	cluster *Cluster
	refs    []api.ObjectRef
	begun   time.Time
	// last is the last look that succeeded.
	last []condition
	// told holds what was told once; toldAt is when progress was told.
	told   map[string]bool
	toldAt time.Time
	// hopeless holds since when an object is final.
	hopeless map[api.ObjectRef]time.Time
}

// run looks again and again; it tells whether all became ready.
func (w *wait) run(ctx context.Context) (bool, error) {
	var trouble error
	for pause := lookFirst; ; pause = min(pause*3/2, lookMost) {
		err := w.look(ctx)
		switch {
		case err == nil:
			trouble = nil
			if len(w.unready()) == 0 {
				return true, nil
			}
			w.progress()
			if w.beyondHope() {
				return false, nil
			}
		case ctx.Err() != nil:
			if trouble == nil {
				trouble = err
			}
			return false, trouble
		default:
			trouble = err
			if !passing(err) {
				return false, err
			}
			w.once("", "%v; the wait goes on", err)
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

// look looks at what was not ready the last time; when all of that is, once more at everything.
func (w *wait) look(ctx context.Context) error {
	var places []int
	var refs []api.ObjectRef
	for i, each := range w.last {
		if !each.ready {
			places, refs = append(places, i), append(refs, each.ref)
		}
	}
	if len(places) > 0 {
		looked, err := w.cluster.assess(ctx, refs)
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
	looked, err := w.cluster.assess(ctx, w.refs)
	if err == nil {
		w.last = looked
	}
	return err
}

// unready gives what is not ready, the worst first.
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

// beyondHope says whether one object has been final for long enough.
func (w *wait) beyondHope() bool {
	for _, each := range w.last {
		if !each.final || each.ready {
			delete(w.hopeless, each.ref)
			continue
		}
		since, known := w.hopeless[each.ref]
		if !known {
			since = time.Now()
			w.hopeless[each.ref] = since
		}
		if each.ref.Kind == "Job" || time.Since(since) >= finalAfter {
			return true
		}
	}
	return false
}

// progress tells now and then how far it is, and at once, but only once, what looks bad.
func (w *wait) progress() {
	unready := w.unready()
	for _, each := range unready {
		if each.status == api.ObjectHealthStatusDegraded {
			w.once(Name(each.ref)+" "+either(each.word, each.reason), "%s: %s", Name(each.ref), each.reason)
		}
	}
	if time.Since(w.toldAt) < tellEvery {
		return
	}
	w.toldAt = time.Now()
	first := unready[0]
	w.cluster.log.Info("%d of %d ready: waiting for %s (%s)", len(w.refs)-len(unready), len(w.refs), Name(first.ref), first.reason)
}

// mostTold bounds the sentences that are told once.
const mostTold = 50

// once warns, but of the same thing only once; what is the same, the key says, or the sentence itself when it is empty.
func (w *wait) once(key, format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if key == "" {
		key = said
	}
	if w.told[key] || len(w.told) >= mostTold {
		return
	}
	w.told[key] = true
	w.cluster.log.Warn("%s", said)
}

// failure is the end of a wait that did not come to a good one.
func (w *wait) failure() error {
	unready := w.unready()
	if len(unready) == 0 {
		return errors.New("the objects were ready, and are looked at no more") // cannot be: run tells
	}
	first := unready[0]
	for _, each := range unready {
		if each.final {
			first = each
			break
		}
	}
	return &NotReadyError{Object: first.ref, Reason: first.reason, Others: len(unready) - 1, Waited: time.Since(w.begun), Final: w.beyondHope()}
}
