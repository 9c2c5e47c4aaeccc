package cluster

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
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

// judge returns the condition of an object, which is nil when the object does not exist.
// The rules are those of kstatus, with exceptions where kstatus does not fit a person who
// waits: a Job is ready when it is complete, a failed Pod is not ready, a paused rollout is not
// waited for, and a load balancer needs an address.
func judge(ref api.ObjectRef, object *unstructured.Unstructured) condition {
	made := condition{ref: ref}
	if object == nil {
		if ref.Group == "batch" && ref.Kind == "Job" {
			// A finished Job may have removed itself (ttlSecondsAfterFinished).
			made.ready = true
			return made
		}
		return made.degraded("it is not there")
	}
	if own, known := ownRules(made, object); known {
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
		made = made.degraded(words(result))
		made.final = ref.Kind != "Pod" // a container that crashes is started again
	case status.TerminatingStatus:
		made = made.progressing("it is being deleted")
	default:
		made = made.progressing(words(result))
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

// ownRules returns the condition of objects that kstatus judges differently
// than a person who waits.
func ownRules(made condition, object *unstructured.Unstructured) (condition, bool) {
	if object.GetDeletionTimestamp() != nil {
		return made, false
	}
	switch made.ref.Group + "/" + made.ref.Kind {
	case "batch/Job":
		return jobRule(made, object)
	case "/Pod":
		if text(object, "status", "phase") == "Failed" {
			made = made.degraded("it failed: " +
				either(text(object, "status", "message"), text(object, "status", "reason"), "no reason is given"))
			made.final = true
			return made, true
		}
	case "apps/Deployment":
		if paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); paused {
			made.ready = true
			return made, true
		}
	case "/Service":
		return serviceRule(made, object)
	}
	return made, false
}

func jobRule(made condition, object *unstructured.Unstructured) (condition, bool) {
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
			made = made.degraded(diff.EscapeText(short("it failed: "+either(each.message, each.reason), mostReason)))
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

// serviceRule waits for the address of a load balancer, because readers of the outputs need it.
func serviceRule(made condition, object *unstructured.Unstructured) (condition, bool) {
	addresses, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	external, _, _ := unstructured.NestedSlice(object.Object, "spec", "externalIPs")
	if text(object, "spec", "type") != "LoadBalancer" || len(addresses)+len(external) > 0 {
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

// mostReason bounds a reason, in bytes.
const mostReason = 300

// counted matches how kstatus reports a rollout: "Updated: 1/3".
var counted = regexp.MustCompile(`^([A-Za-z]+): (\d+)/(\d+)$`)

// leaving matches how kstatus reports the pods that a rollout has replaced:
// "Pending termination: 2".
var leaving = regexp.MustCompile(`^Pending termination: (\d+)$`)

// words turns a result of kstatus into a sentence.
func words(result *status.Result) string {
	said := result.Message
	if found := counted.FindStringSubmatch(said); found != nil {
		what := strings.ToLower(found[1])
		if what == "replicas" {
			what = "created"
		}
		return fmt.Sprintf("%s of %s %s", found[2], found[3], what)
	}
	if found := leaving.FindStringSubmatch(said); found != nil {
		return "replaced pods that are still there: " + found[1]
	}
	for _, each := range result.Conditions {
		if each.Message != "" {
			said = each.Message
		}
	}
	if said == "" {
		said = "its controller has not said why"
	}
	return diff.EscapeText(short(said, mostReason))
}

// text returns a string field of an object, or "" when it does not exist.
func text(object *unstructured.Unstructured, fields ...string) string {
	found, _, _ := unstructured.NestedString(object.Object, fields...)
	return found
}

// either returns the first text that is not empty.
func either(texts ...string) string {
	for _, each := range texts {
		if each != "" {
			return each
		}
	}
	return ""
}

// short cuts a text to at most most bytes.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
