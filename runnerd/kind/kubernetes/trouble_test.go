package kubernetes

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// refusedWith plans, and checks that the error contains words.
func (r *rig) refusedWith(text string, words ...string) {
	r.t.Helper()
	p, err := r.plan(text)
	if err == nil {
		r.t.Errorf("it is planned: %q", p.told())
		return
	}
	for _, want := range words {
		if !strings.Contains(err.Error(), want) {
			r.t.Errorf("%q is not in: %v", want, err)
		}
	}
}

// as writes a kubeconfig with which the runner impersonates another user.
func (r *rig) as(user string) {
	r.t.Helper()
	config, err := clientcmd.LoadFromFile(r.kubeconfig)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	r.kubeconfig = filepath.Join(r.root, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, r.kubeconfig); err != nil {
		r.t.Fatal(err)
	}
}

// TestForbidden checks that the error names verb, resource and subject,
// for all objects at once.
func TestForbidden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.make("rbac.authorization.k8s.io/v1", "Role", r.name,
		`{"metadata":{"name":"reader"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["get","list","watch"]}]}`)
	r.make("rbac.authorization.k8s.io/v1", "RoleBinding", r.name, `{"metadata":{"name":"reader"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},
		"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"weak"}]}`)
	clustertest.AwaitPermission(t, r.cluster, "weak", "list", "secrets", r.name)
	whole := r.kubeconfig
	r.must(settings)
	r.as("weak")
	r.refusedWith(settings+web, "patch", "configmaps", "secrets", `weak`, "document 1 (line 1)", "deployments")
	r.refusedWith("", "delete", "configmaps", "weak")
	r.kubeconfig = whole
}

// TestQuota checks that a plan reports an exceeded quota, because it sends the
// same request as an apply.
func TestQuota(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.make("v1", "ResourceQuota", r.name, `{"metadata":{"name":"few"},"spec":{"hard":{"services":"0"}}}`)
	testtime.Until(t, "the quota is worked out", func() bool {
		status, _ := r.get("v1", "ResourceQuota", "few").Object["status"].(map[string]any)
		used, _ := status["used"].(map[string]any)
		return used["services"] != nil
	})
	r.refusedWith(web, "Service "+r.name+"/web", "quota few")
}

// TestWebhook checks that the error for a webhook's rejection has its name and its message
// without control characters.
func TestWebhook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var asked atomic.Int32
	served := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(request.Body)
		var review struct {
			Request struct{ UID string } `json:"request"`
		}
		_ = json.Unmarshal(body, &review)
		_, _ = fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":false,"status":{"message":"no team\u001b[31m label"}}}`, review.Request.UID)
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served.Listener = listener
	served.StartTLS()
	t.Cleanup(served.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: served.Certificate().Raw}))
	name := r.name + ".example.com"
	r.make("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", `{"metadata":{"name":"`+name+`"},"webhooks":[{"name":"`+name+`",
		"admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail","clientConfig":{"url":"`+served.URL+`/","caBundle":"`+ca+`"},
		"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+r.name+`"}},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}]}`)
	t.Cleanup(func() { r.deleteWebhook(name) })
	testtime.Until(t, "the server knows of the webhook", func() bool {
		_, err = r.plan(settings)
		return err != nil
	})
	if asked.Load() == 0 || err == nil || !strings.Contains(err.Error(), name) ||
		!strings.Contains(err.Error(), "no team") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// TestImmutable checks that an object that cannot be changed is recreated if it allows that.
func TestImmutable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fixed := func(value, more string) string {
		return "apiVersion: v1\nkind: ConfigMap\nimmutable: true\nmetadata: {name: settings" + more +
			"}\ndata: {a: \"" + value + "\"}\n"
	}
	r.must(fixed("1", ""))
	before := r.get("v1", "ConfigMap", "settings").GetUID()
	r.refusedWith(fixed("2", ""), "document 1 (line 1)", annotationRecreate, "data")
	p, _ := r.must(fixed("2", ", annotations: {"+annotationRecreate+`: "true"}`))
	c := p.report.Changes[0]
	if c.Action != diff.Replace || !p.Destructive || !strings.Contains(c.Why, "the server does not change data in place") {
		t.Errorf("got %+v", c)
	}
	if live := r.get("v1", "ConfigMap", "settings"); live.GetUID() == before ||
		live.Object["data"].(map[string]any)["a"] != "2" {
		t.Errorf("got %v", live.Object)
	}
}

// TestRefusals checks that all rejections are reported at once, with their positions.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.refusedWith(settings+`---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
`, "document 2 (line 6)", "is there already, in document 1 (line 1)")
	r.refusedWith(settings+`---
apiVersion: example.com/v1
kind: Nothing
metadata: {name: a}
`, "document 2 (line 6)", "the cluster has no kind Nothing of example.com/v1")
	r.refusedWith("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: not-there}\n",
		"namespace not-there not found; create it with: kubectl create namespace not-there,")
	r.refusedWith(strings.Replace(web, "replicas: 2", "replicaz: 2", 1)+`---
apiVersion: v1
kind: Service
metadata: {name: other}
spec: {ports: [{port: 99999}]}
`, "replicaz", "document 4", "spec.ports[0].port")
	r.values = `{"install":{"name":"acme"}}`
	if _, err := r.plan(settings + "# {{ .nuon.install.nothing }}\n"); err == nil ||
		!strings.Contains(err.Error(), "nothing") {
		t.Errorf("got %v", err)
	}
	p, err := r.plan(strings.Replace(settings, `"1"`, `"{{ .nuon.install.name }}"`, 1))
	if err != nil || !strings.Contains(string(p.Report), "acme") {
		t.Errorf("got %v %s", err, p.Report)
	}
}

// TestNotReady checks that an apply fails with the object that is not ready, and that
// the next one repairs it.
func TestNotReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var result api.JobResult
	var err error
	whole := r.seconds
	// A busy cluster may not get that far within the job's time. The image of each try is different, so that its plan is
	// not empty if the one before got to apply everything.
	for seconds := 30; seconds <= whole; seconds *= 2 {
		r.seconds = whole
		p, planErr := r.plan(strings.Replace(web, "shop/web:1", fmt.Sprintf("shop/crash:%d", seconds), 1))
		if planErr != nil {
			t.Fatal(planErr)
		}
		r.seconds = seconds
		if result, err = r.apply(p); err == nil && strings.Contains(result.Error, "Deployment "+r.name+"/web") {
			break
		}
	}
	if err != nil || result.Status == job.Succeeded || !strings.Contains(result.Error, "Deployment "+r.name+"/web") ||
		len(result.Apply.Health.Objects) == 0 {
		t.Errorf("got %v %+v", err, result)
	}
	r.seconds = whole
	r.heal(web, "after a crash")
}

// TestOtherCluster checks that a plan is for one cluster.
func TestOtherCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, err := r.plan(settings)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	r.kubeconfig = filepath.Join(r.root, "other")
	if err := os.WriteFile(r.kubeconfig,
		[]byte(strings.Replace(string(text), "https://127.0.0.1", "https://localhost", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.apply(p); err == nil ||
		!strings.Contains(err.Error(), "another cluster than the runner's") {
		t.Errorf("got %v", err)
	}
}
