package cluster

import (
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// condition is the readiness of one object.
type condition struct {
	ref    api.ObjectRef
	status api.ObjectHealthStatus
	// ready means that there is nothing left to wait for.
	ready bool
	// reason is one sentence without a full stop; empty when the object is ready.
	reason string
	// word is Kubernetes' own name for the problem of one of its pods, such as
	// CrashLoopBackOff. It stays the same while counts in the reason change.
	word string
	// final means that the object can no longer become ready without a change.
	final bool
}

// conditionOf returns the condition of an object, which is nil when the object does not exist.
// The rules are those of kstatus, with exceptions where kstatus does not fit a person who
// waits: a Job is ready when it is complete, a failed Pod is not ready, a paused rollout is not
// waited for, and a load balancer needs an address.
func conditionOf(ref api.ObjectRef, object *unstructured.Unstructured) condition {
	made := condition{ref: ref}
	if object == nil {
		if ref.Group == "batch" && ref.Kind == "Job" {
			// A finished Job may have removed itself (ttlSecondsAfterFinished).
			made.ready = true
			return made
		}
		return made.degraded("it is not there")
	}
	if own, known := specialCondition(made, object); known {
		return own
	}
	result, err := status.Compute(object)
	if err != nil {
		// An unreadable status is no reason to wait forever.
		made.ready, made.status, made.reason = true, api.ObjectHealthStatusUnknown, "its status cannot be read"
		return made
	}
	switch result.Status {
	case status.CurrentStatus:
		made.ready = true
	case status.FailedStatus:
		made = made.degraded(describeResult(result))
		made.final = ref.Kind != "Pod" // a container that crashes is started again
	case status.TerminatingStatus:
		made = made.progressing("it is being deleted")
	default:
		made = made.progressing(describeResult(result))
	}
	return made
}

func (c condition) degraded(reason string) condition {
	c.status, c.reason = api.ObjectHealthStatusDegraded, reason
	return c
}

func (c condition) progressing(reason string) condition {
	c.status, c.reason = api.ObjectHealthStatusProgressing, reason
	return c
}

// specialCondition returns the condition of objects that kstatus judges differently
// than a person who waits.
func specialCondition(made condition, object *unstructured.Unstructured) (condition, bool) {
	if object.GetDeletionTimestamp() != nil {
		return made, false
	}
	switch made.ref.Group + "/" + made.ref.Kind {
	case "batch/Job":
		return jobCondition(made, object)
	case "/Pod":
		if stringField(object, "status", "phase") == "Failed" {
			made = made.degraded("it failed: " +
				firstNonEmpty(stringField(object, "status", "message"), stringField(object, "status", "reason"),
					"no reason is given"))
			made.final = true
			return made, true
		}
	case "apps/Deployment":
		if paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); paused {
			made.ready = true
			return made, true
		}
	case "/Service":
		return serviceCondition(made, object)
	}
	return made, false
}

func jobCondition(made condition, object *unstructured.Unstructured) (condition, bool) {
	suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
	for _, each := range conditionsOf(object) {
		if each.status != "True" {
			continue
		}
		switch each.kind {
		case "Complete":
			made.ready = true
			return made, true
		case "Failed":
			why := "it failed: " + firstNonEmpty(each.message, each.reason)
			made = made.degraded(diff.EscapeText(truncate.Text(why, maxReason)))
			made.final = true
			return made, true
		}
	}
	if suspended {
		made.ready = true
		return made, true
	}
	active, _, _ := unstructured.NestedInt64(object.Object, "status", "active")
	failed, _, _ := unstructured.NestedInt64(object.Object, "status", "failed")
	reason := "it has not begun"
	if active > 0 {
		reason = "it runs"
	}
	if failed > 0 {
		reason += fmt.Sprintf(", %d of its pods failed", failed)
	}
	return made.progressing(reason), true
}

// serviceCondition waits for the address of a load balancer, because readers of the outputs need it.
func serviceCondition(made condition, object *unstructured.Unstructured) (condition, bool) {
	addresses, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	external, _, _ := unstructured.NestedSlice(object.Object, "spec", "externalIPs")
	if stringField(object, "spec", "type") != "LoadBalancer" || len(addresses)+len(external) > 0 {
		return made, false
	}
	return made.progressing("its load balancer has no address yet"), true
}

// statusCondition is one entry of an object's status.conditions.
type statusCondition struct{ kind, status, reason, message string }

func conditionsOf(object *unstructured.Unstructured) []statusCondition {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var made []statusCondition
	for _, each := range list {
		fields, _ := each.(map[string]any)
		one := statusCondition{}
		one.kind, _ = fields["type"].(string)
		one.status, _ = fields["status"].(string)
		one.reason, _ = fields["reason"].(string)
		one.message, _ = fields["message"].(string)
		made = append(made, one)
	}
	return made
}

// maxReason bounds a reason, in bytes.
const maxReason = 300

// progressPattern matches how kstatus reports a rollout: "Updated: 1/3".
var progressPattern = lazyregexp.New(`^([A-Za-z]+): (\d+)/(\d+)$`)

// terminationPattern matches how kstatus reports the pods that a rollout has replaced:
// "Pending termination: 2".
var terminationPattern = lazyregexp.New(`^Pending termination: (\d+)$`)

// describeResult turns a result of kstatus into a sentence.
func describeResult(result *status.Result) string {
	said := result.Message
	if found := progressPattern.FindStringSubmatch(said); found != nil {
		what := strings.ToLower(found[1])
		if what == "replicas" {
			what = "created"
		}
		return fmt.Sprintf("%s of %s %s", found[2], found[3], what)
	}
	if found := terminationPattern.FindStringSubmatch(said); found != nil {
		return "replaced pods that are still there: " + found[1]
	}
	for _, each := range result.Conditions {
		if each.Message != "" {
			said = each.Message
		}
	}
	if said == "" {
		said = "its controller has not reported a reason"
	}
	return diff.EscapeText(truncate.Text(said, maxReason))
}

// stringField returns a string field of an object, or "" when it does not exist.
func stringField(object *unstructured.Unstructured, fields ...string) string {
	found, _, _ := unstructured.NestedString(object.Object, fields...)
	return found
}

// firstNonEmpty returns the first text that is not empty.
func firstNonEmpty(texts ...string) string {
	for _, each := range texts {
		if each != "" {
			return each
		}
	}
	return ""
}
