package cluster_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// TestOwnPods checks that the pods of an object are those that it controls, directly or through what it made, and not
// every pod that its selector matches.
func TestOwnPods(t *testing.T) {
	t.Parallel()
	const once = "{template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}"
	c, _ := open(t)
	namespace := clustertest.Namespace(t, c)
	clustertest.Create(t, c, namespace, "apiVersion: v1\nkind: Pod\nmetadata: {name: foreign, labels: {app: web}}\n"+
		"spec: {containers: [{name: main, image: x}]}\n")
	refs := clustertest.Create(t, c, namespace, deployment("web", "x")+"---\n"+
		"apiVersion: v1\nkind: Pod\nmetadata: {name: single}\n"+
		"spec: {containers: [{name: one, image: x}, {name: two, image: x}]}\n---\n"+
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: often}\n"+
		"spec: {schedule: '0 0 1 1 *', jobTemplate: {spec: "+once+"}}\n")
	clustertest.Create(t, c, namespace, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: often-1, ownerReferences: "+
		"[{apiVersion: batch/v1, kind: CronJob, name: often, controller: true, uid: "+
		string(clustertest.Get(t, c, refs[2]).GetUID())+"}]}\n"+
		"spec: "+once+"\n")
	var found string
	testtime.Until(t, "the pods run", func() bool {
		found = listed(t, c, refs[:2], "")
		return strings.Count(found, "\n") == 3
	})
	lines := strings.Split(found, "\n")
	if lines[0] != "single/one" || lines[1] != "single/two" || !strings.HasPrefix(lines[2], "web-") {
		t.Error(found)
	}
	if got := listed(t, c, refs[:2], "two"); got != "single/two\n" {
		t.Error(got)
	}
	testtime.Until(t, "the run of the CronJob is found", func() bool {
		return strings.HasPrefix(listed(t, c, refs[2:], ""), "often-")
	})
}

// listed returns the containers of objects, a line each.
func listed(t *testing.T, c *cluster.Cluster, refs []api.ObjectRef, name string) string {
	t.Helper()
	containers, err := c.Containers(t.Context(), refs, name)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, each := range containers {
		all.WriteString(each.Pod + "/" + each.Name + "\n")
	}
	return all.String()
}
