package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
)

// installed installs the chart v1 in the cluster.
func installed(t *testing.T, c *cluster.Cluster, namespace string) {
	t.Helper()
	d := newHelmDiff(helmRequest{Release: "shop", Namespace: namespace})
	made, err := d.load(t.Context(), helmSide{Chart: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := helmsdk.New(c, helmsdk.Options{Namespace: namespace, Driver: "secret", Log: clustertest.NewLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := client.Render(t.Context(), made.chart,
		helmsdk.RenderRequest{Release: "shop", Namespace: namespace, Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Apply(t.Context(), helmsdk.ApplyRequest{
		Release: "shop", Chart: made.chart, Rendered: rendered, Digest: rendered.Digest(), Timeout: time.Minute,
		Decision: helmsdk.Decide(helmsdk.Observation{Release: "shop", Namespace: namespace}),
		Owner:    helmsdk.Owner{Install: "i", Component: "c", Attempt: "j.1"},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestDiffAgainstACluster compares the deployed release with the chart, including a change
// that somebody made in the cluster meanwhile, and checks that nothing is written.
func TestDiffAgainstACluster(t *testing.T) {
	chartsIn(t)
	write(t, "v1/crds/a.yaml", "") // definitions are cluster-wide
	write(t, "v2/crds/a.yaml", "")
	c := clustertest.Open(t)
	namespace := clustertest.Namespace(t, c)
	request := helmRequest{
		Before: helmSide{Chart: "v2"}, After: helmSide{Chart: "v2", Sets: []string{"image=web:2"}}, Release: "shop",
		Namespace: namespace,
		Cluster:   &helmCluster{KubeConfig: clustertest.Kubeconfig(t)},
	}
	got, err := compared(t, request)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(addresses(got.Changes), "create Deployment.apps/shop-web") ||
		!strings.Contains(strings.Join(got.Notes, "\n"), "not deployed in namespace "+namespace) {
		t.Errorf("of a release that is not there: %s, %v", addresses(got.Changes), got.Notes)
	}
	installed(t, c, namespace)
	deployment := api.ObjectRef{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: namespace, Name: "shop-web"}
	resource, err := c.Resource(deployment)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Patch(t.Context(), "shop-web", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"edited":"yes"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	written := clustertest.Get(t, c, deployment).GetGeneration()
	if got, err = compared(t, request); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(addresses(got.Changes), "update Deployment.apps/shop-web") ||
		addresses(got.Hooks) != "create Job.batch/migrate" {
		t.Errorf("changes %s, hooks %s", addresses(got.Changes), addresses(got.Hooks))
	}
	if !strings.Contains(strings.Join(got.Notes, "\n"), "revision 1 of web 1.0.0, deployed, to web 1.1.0 (v2)") {
		t.Errorf("notes %v", got.Notes)
	}
	if !images(got, "web:1", "web:2") {
		t.Errorf("the image is not among the changes: %+v", got.Changes)
	}
	if after := clustertest.Get(t, c, deployment).GetGeneration(); after != written {
		t.Errorf("the deployment was written: generation %d, then %d", written, after)
	}
	request.After = helmSide{Chart: "v1"}
	if got, err = compared(t, request); err != nil || got.Applyable {
		t.Errorf("what is deployed differs from itself: %s, %v", addresses(got.Changes), err)
	}
}

// images reports whether an image changes from before to after.
func images(r diff.Report, before, after string) bool {
	for _, c := range r.Changes {
		for _, f := range c.Fields {
			text, err := json.Marshal(f)
			if err == nil && strings.HasSuffix(f.Path, "image") && strings.Contains(string(text), before) &&
				strings.Contains(string(text), after) {
				return true
			}
		}
	}
	return false
}

func TestDiffAgainstNoCluster(t *testing.T) {
	chartsIn(t)
	write(t, "broken", "not: [a kubeconfig")
	for file, want := range map[string]string{"none": "the kubeconfig none: no such file or directory; name the file " +
		"with --kubeconfig", "broken": "broken"} {
		request := helmRequest{After: helmSide{Chart: "v1"}, Cluster: &helmCluster{KubeConfig: file}}
		if _, err := compared(t, request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
