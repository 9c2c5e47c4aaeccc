package helmsdk

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

const (
	// pollInterval is the interval of polling a hook, or an object that is being deleted.
	pollInterval = 300 * time.Millisecond
	// logEvery is how often the log reports what is waited for.
	logEvery = 10 * time.Second
)

// WatchUntilReady waits for hooks to end: a Job to complete, a Pod to succeed. Other
// kinds are done when they are created.
func (d *releaseClient) WatchUntilReady(resources kube.ResourceList, timeout time.Duration) error {
	for _, o := range resources {
		if kind := o.Mapping.GroupVersionKind.Kind; kind != "Job" && kind != "Pod" {
			continue
		}
		if err := d.waitForHook(o, timeout); err != nil {
			d.recordErrors([]error{err})
			return err
		}
	}
	return nil
}

// waitForHook waits for one hook.
func (d *releaseClient) waitForHook(o *resource.Info, timeout time.Duration) error {
	name, begun, said := cluster.DisplayName(ref(o)), time.Now(), time.Now()
	d.log.Info("waiting for the hook %s", name)
	var trouble error
	err := d.pollUntil(timeout, func() (bool, error) {
		live, err := get(o)
		if trouble = err; err != nil {
			return false, dropTemporary(err)
		}
		if time.Since(said) > logEvery {
			said = time.Now()
			d.log.Info("the hook %s is running for %s", name, time.Since(begun).Round(time.Second))
		}
		return hookResult(live)
	})
	switch {
	case err == nil:
		d.log.Info("the hook %s is done", name)
		return nil
	case errors.Is(err, errFailed):
		return fmt.Errorf(
			"the hook %s failed: %s; its events and last lines are in the step's log: correct the chart or its values, and "+
				"deploy again", name, d.explainObject(ref(o), err))
	case wait.Interrupted(err) || d.ctx.Err() != nil:
		why := fmt.Sprintf("the hook %s did not end within %s: %s", name, time.Since(begun).Round(time.Second),
			d.explainObject(ref(o), trouble))
		return errors.New(why + "; let it end by itself, or give it more time with deploy_timeout")
	}
	return fmt.Errorf("wait for the hook %s: %w", name, explain(d.ctx, err))
}

// pollUntil polls done until it returns true or an error, the context ends, or the timeout expires.
func (d *releaseClient) pollUntil(timeout time.Duration, done func() (bool, error)) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		if ended, err := done(); ended || err != nil {
			return err
		}
		pause := time.NewTimer(pollInterval)
		select {
		case <-pause.C:
		case <-timer.C:
			return wait.ErrorInterrupted(nil)
		case <-d.ctx.Done():
			return wait.ErrorInterrupted(nil)
		}
		pause.Stop()
	}
}

// errFailed is wrapped when a hook failed.
var errFailed = errors.New("it ended badly")

// hookResult reports whether a Job or a Pod has ended, and whether it failed. A deleted
// one has ended: Jobs may delete themselves.
func hookResult(live *unstructured.Unstructured) (bool, error) {
	if live == nil {
		return true, nil
	}
	if live.GetKind() == "Pod" {
		phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
		if phase == "Failed" {
			return true, errFailed
		}
		return phase == "Succeeded", nil
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch {
		case condition["status"] != "True":
		case condition["type"] == "Complete":
			return true, nil
		case condition["type"] == "Failed":
			return true, fmt.Errorf("%w: %s", errFailed, boundedText(fmt.Sprint(condition["message"]), 300))
		}
	}
	return false, nil
}

// dropTemporary drops temporary errors: the server refuses for now, or does not respond.
func dropTemporary(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError &&
		status.Status().Code != http.StatusTooManyRequests {
		return err
	}
	return nil
}

// explainObject logs the events and last lines of an object that did not succeed, and returns
// the reason in a few words.
func (d *releaseClient) explainObject(object api.ObjectRef, otherwise error) string {
	ctx, cancel := withGrace(d.ctx)
	defer cancel()
	_, err := d.plain.Wait(ctx, []api.ObjectRef{object}, time.Second)
	var unready *cluster.NotReadyError
	if errors.As(err, &unready) && unready.Reason != "" {
		return boundedText(strings.TrimSuffix(unready.Reason, "."), 500)
	}
	if otherwise != nil {
		return bounded(otherwise)
	}
	return "it is still at work"
}

// WaitForDelete waits until objects are deleted.
func (d *releaseClient) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	if d.deleted {
		// The SDK also waits for objects that are left to others.
		resources = resources.Filter(func(o *resource.Info) bool { return !d.existing.Contains(o) || d.deleting.Contains(o) })
	}
	err := d.waitForDelete(resources, timeout)
	if err != nil {
		d.recordErrors([]error{err})
	}
	return err
}

func (d *releaseClient) waitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	left, said := resources, time.Now()
	var last *unstructured.Unstructured
	err := d.pollUntil(timeout, func() (bool, error) {
		for len(left) > 0 {
			live, err := get(left[0])
			if err != nil {
				return false, dropTemporary(err)
			}
			if live != nil {
				last = live
				break
			}
			left = left[1:]
		}
		if len(left) > 0 && time.Since(said) > logEvery {
			said = time.Now()
			d.log.Info("waiting until %s is gone", cluster.DisplayName(ref(left[0])))
		}
		return len(left) == 0, nil
	})
	if err == nil {
		return nil
	}
	if !wait.Interrupted(err) {
		return fmt.Errorf("wait for objects to be gone: %w", explain(d.ctx, err))
	}
	if last == nil {
		return fmt.Errorf("%s is not gone: the cluster does not answer; try again", cluster.DisplayName(ref(left[0])))
	}
	why := "the cluster is still deleting it"
	if finalizers := last.GetFinalizers(); len(finalizers) > 0 {
		why = "its finalizers are left: " + boundedText(strings.Join(finalizers, ", "), 300)
	}
	return fmt.Errorf("%s is not gone: %s; find out which controller should take them away, and try again",
		cluster.DisplayName(ref(left[0])), why)
}
