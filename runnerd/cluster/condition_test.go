package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	// A server returns whole numbers as int64.
	encoded, err := object.MarshalJSON()
	if err == nil {
		err = object.UnmarshalJSON(encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestJudge(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, generation: 2}\n"
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
	tests := map[string]struct {
		object string
		ready  bool
		status api.ObjectHealthStatus
		reason string
		final  bool
	}{
		"Deployment not seen yet": {object: deployment + "spec: {replicas: 3}\nstatus: {observedGeneration: 1}",
			status: "progressing", reason: "generation"},
		"Deployment on its way": {object: deployment +
			"spec: {replicas: 3}\nstatus: {observedGeneration: 2, replicas: 3, updatedReplicas: 1}",
			status: "progressing", reason: "1 of 3 updated"},
		"Deployment paused": {object: deployment +
			"spec: {replicas: 3, paused: true}\nstatus: {observedGeneration: 2}", ready: true},
		"Deployment out of time": {object: deployment + "spec: {replicas: 3}\nstatus: {observedGeneration: 2, conditions: " +
			"[{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: too slow}]}", status: "degraded",
			reason: "too slow", final: true},
		"Job begins": {object: job, status: "progressing", reason: "it has not begun"},
		"Job runs": {object: job +
			"status: {startTime: '2026-01-01T00:00:00Z', active: 1, failed: 2}", status: "progressing",
			reason: "it runs, 2 of its pods failed"},
		"Job complete": {object: job + "status: {conditions: [{type: Complete, status: 'True'}]}", ready: true},
		"Job failed": {object: job +
			"status: {conditions: [{type: Failed, status: 'True', message: \"too\\nmany\"}]}", status: "degraded",
			reason: `too\nmany`, final: true},
		"Job suspended": {object: job + "spec: {suspend: true}", ready: true},
		"Pod failed": {object: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {phase: Failed, " +
			"message: evicted}", status: "degraded", reason: "evicted", final: true},
		"Pod crashes": {object: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {phase: Running, " +
			"containerStatuses: [{name: c, state: {waiting: {reason: CrashLoopBackOff}}}]}", status: "degraded",
			reason: "CrashLoop"},
		"load balancer": {object: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: " +
			"LoadBalancer, clusterIP: 1.2.3.4}", status: "progressing", reason: "no address"},
		"load balancer with address": {object: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: " +
			"LoadBalancer, clusterIP: 1.2.3.4}\nstatus: {loadBalancer: {ingress: [{ip: 1.1.1.1}]}}", ready: true},
		"Service": {object: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: " +
			"{clusterIP: 1.2.3.4}", ready: true},
		"ConfigMap": {object: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", ready: true},
		"resource of a kind unknown": {object: "apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: a}\nstatus: {conditions: " +
			"[{type: Ready, status: 'False', message: \"no\\x1b[2J disk\"}]}", status: "progressing", reason: `no\x1b[2J disk`},
		"stalled": {object: "apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: a}\nstatus: {conditions: [{type: " +
			"Stalled, status: 'True', message: bad}]}", status: "degraded", reason: "bad", final: true},
		"odd conditions": {object: "apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: a}\nstatus: {conditions: {a: b}}",
			ready: true, status: "unknown", reason: "cannot be read"},
		"on its way out": {object: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, deletionTimestamp: " +
			"'2026-01-01T00:00:00Z'}", status: "progressing", reason: "being deleted"},
		"claim": {object: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nstatus: {phase: Pending}",
			status: "progressing", reason: "Pending"},
		"status of something strange": {object: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {phase: 7}",
			status: "progressing", reason: "phase"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := objectOf(t, test.object)
			got := conditionOf(RefOf(object), object)
			if got.ready != test.ready || got.status != test.status || got.final != test.final ||
				!strings.Contains(got.reason, test.reason) {
				t.Errorf("got %+v", got)
			}
		})
	}
	gone := conditionOf(api.ObjectRef{Version: "v1", Kind: "ConfigMap", Name: "a"}, nil)
	done := conditionOf(api.ObjectRef{Group: "batch", Version: "v1", Kind: "Job", Name: "a"}, nil)
	if gone.ready || gone.status != api.ObjectHealthStatusDegraded || !done.ready {
		t.Errorf("not there: %+v %+v", gone, done)
	}
}

func TestHealthNamesTheWorstFirst(t *testing.T) {
	looked := []condition{{ref: api.ObjectRef{Name: "ok"}, ready: true}}
	for range 30 {
		looked = append(looked, condition{ref: api.ObjectRef{Name: "slow"}, status: api.ObjectHealthStatusProgressing,
			reason: "r"})
	}
	if got := healthOf(looked); got.Status != api.HealthStatusProgressing {
		t.Error(got.Status)
	}
	looked = append(looked, condition{ref: api.ObjectRef{Name: "bad"}, status: api.ObjectHealthStatusDegraded,
		reason: "r"})
	got := healthOf(looked)
	if got.Status != api.HealthStatusDegraded || len(got.Objects) != maxUnready || got.Objects[0].Object.Name != "bad" {
		t.Errorf("%+v", got)
	}
	if got := healthOf(looked[:1]); got.Status != api.HealthStatusReady || got.Objects == nil || len(got.Objects) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestOutputsHoldWhatStays checks that fields that an autoscaler, a controller or the server
// changes are in no output.
func TestOutputsHoldWhatStays(t *testing.T) {
	before := objectOf(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: n, resourceVersion: "+
		"'1', generation: 1, annotations: {deployment.kubernetes.io/revision: '1'}, labels: {x: y}}\nspec: {replicas: 1, "+
		"template: {metadata: {annotations: {key: planted-note}}, spec: {containers: [{name: c, image: web:1, command: "+
		"[planted-word], env: [{name: PASSWORD, value: planted-env}]}]}}}\nstatus: {replicas: 1, readyReplicas: 1}")
	after := before.DeepCopy()
	after.SetResourceVersion("2")
	after.SetGeneration(2)
	after.SetAnnotations(map[string]string{"deployment.kubernetes.io/revision": "2"})
	for _, change := range [][]string{{"spec", "replicas"}, {"status", "readyReplicas"}, {"status", "replicas"}} {
		if err := unstructured.SetNestedField(after.Object, int64(5), change...); err != nil {
			t.Fatal(err)
		}
	}
	texts := make([]string, 2)
	for i, object := range []*unstructured.Unstructured{before, after} {
		encoded, err := yaml.Marshal(outputsOf([]*unstructured.Unstructured{object,
			objectOf(t, "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: n}\nstatus: {loadBalancer: {ingress: "+
				"[{ip: 1.1.1.1}]}, conditions: [{type: x}]}")}))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(encoded)
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "1.1.1.1") ||
		!strings.Contains(texts[0], "image: web:1") || strings.Contains(texts[0], "planted") ||
		strings.Contains(texts[0], "conditions") {
		t.Errorf("before\n%s\nafter\n%s", texts[0], texts[1])
	}
}
