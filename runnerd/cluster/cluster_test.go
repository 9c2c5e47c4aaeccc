package cluster_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

func deployment(name, image string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name +
		"}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: " + name + "}}\n" +
		"  template:\n    metadata: {labels: {app: " + name + "}}\n    spec: {containers: [{name: main, image: " +
		image + "}]}\n"
}

func open(t *testing.T) (*cluster.Cluster, *clustertest.Log) {
	t.Helper()
	log := clustertest.NewLog(t)
	c, err := cluster.FromFile(clustertest.Kubeconfig(t), "", log)
	if err != nil {
		t.Fatal(err)
	}
	return c, log
}

func TestWaitUntilAllIsReady(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	namespace := clustertest.Namespace(t, c)
	refs := clustertest.Create(t, c, namespace, deployment("web", "registry.example/web")+"\n---\n"+
		"apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}], selector: "+
		"{app: web}}\n---\n"+
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: {restartPolicy: Never, "+
		"containers: [{name: main, image: x, command: [sh, -c, 'exit 0']}]}}}\n")
	health, err := c.Wait(t.Context(), refs, testtime.Limit)
	if err != nil || health.Status != api.HealthStatusReady {
		t.Fatalf("%+v %v", health, err)
	}
	missing := api.ObjectRef{Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "gone"}
	unknown := api.ObjectRef{Group: "no.example", Version: "v1", Kind: "Nothing", Namespace: namespace, Name: "gone"}
	objects, err := c.Objects(t.Context(), []api.ObjectRef{missing, refs[1], unknown, refs[0]})
	if err != nil || len(objects) != 2 || cluster.RefOf(objects[0]) != refs[1] || cluster.RefOf(objects[1]) != refs[0] {
		t.Errorf("%v %v", objects, err)
	}
	health, err = c.Health(t.Context(), append(refs, missing))
	if err != nil || health.Status != api.HealthStatusDegraded || len(health.Objects) != 1 ||
		health.Objects[0].Object != missing {
		t.Errorf("%+v %v", health, err)
	}
	outputs, err := c.Outputs(t.Context(), refs, values.ComponentProducer(api.DeploySpec{InstallID: "ins_1",
		Component: "web", InstallComponent: "ic_web"}), seal.Identity{}, func(string) bool { return false })
	if err != nil || len(outputs) != 4 || !strings.Contains(string(outputs[1].Value), `"`+namespace+`":{"web":`) ||
		!strings.Contains(string(outputs[1].Value), `"ingress"`) {
		t.Errorf("%s %v", outputs, err)
	}
}

func TestWaitSaysWhyNot(t *testing.T) {
	t.Parallel()
	c, log := open(t)
	namespace := clustertest.Namespace(t, c)
	quota := clustertest.Namespace(t, c)
	clustertest.Create(t, c, quota,
		"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: '0'}}\n")
	tests := map[string]struct {
		namespace, image string
		reason           string
		logged           []string
	}{
		"missing": {namespace, "registry.example/missing", "ImagePull", []string{"event of Pod"}},
		"crash":   {namespace, "registry.example/crash", "CrashLoopBackOff", []string{"last lines of pod crash", "BackOff"}},
		"never":   {namespace, "registry.example/never", "not ready", []string{"Unhealthy"}},
		"quota":   {quota, "registry.example/fine", "exceeded quota: none", []string{"event of ReplicaSet quota"}},
	}
	var group sync.WaitGroup
	for name, test := range tests {
		refs := clustertest.Create(t, c, test.namespace, deployment(name, test.image))
		group.Go(func() {
			var health api.Health
			var unready *cluster.NotReadyError
			says := func() bool {
				return unready != nil && unready.Object == refs[0] && strings.Contains(unready.Error(), test.reason) &&
					len(health.Objects) == 1 && strings.Contains(health.Objects[0].Reason, test.reason)
			}
			// A busy cluster may not have a reason at first, or not say it in time.
			for limit := 15 * time.Second; limit < testtime.Limit && !says(); limit *= 2 {
				var err error
				if health, err = c.Wait(t.Context(), refs, limit); !errors.As(err, &unready) {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
			if !says() {
				t.Errorf("%s: %v and %+v do not say %q", name, unready, health, test.reason)
			}
		})
	}
	group.Wait()
	for name, test := range tests {
		for _, want := range test.logged {
			if !strings.Contains(log.Text(), want) {
				t.Errorf("%s: %q is not in the log", name, want)
			}
		}
	}
}

// TestAClaimThatNobodyUses checks that a claim that is bound only when a pod uses
// it is not waited for.
func TestAClaimThatNobodyUses(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	namespace, class := clustertest.Namespace(t, c), clustertest.Name("later")
	made := clustertest.Create(t, c, "", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: "+class+
		"}\nprovisioner: no.example/none\nvolumeBindingMode: WaitForFirstConsumer\n")
	t.Cleanup(func() { clustertest.Delete(t, c, made[0]) })
	refs := clustertest.Create(t, c, namespace, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: later}\n"+
		"spec: {storageClassName: "+class+", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
	if health, err := c.Wait(t.Context(), refs, testtime.Limit); err != nil {
		t.Errorf("%+v %v", health, err)
	}
}

// TestNamesAreSafeToPrint checks DisplayName, because the names of a chart's
// objects appear in messages.
func TestNamesAreSafeToPrint(t *testing.T) {
	said := cluster.DisplayName(api.ObjectRef{Kind: "Pod\x1b[2J", Namespace: "a\nb", Name: strings.Repeat("x", 10_000)})
	if strings.ContainsAny(said, "\x1b\n") || len(said) > 1000 {
		t.Errorf("%q", said)
	}
}

// TestWaitEndsEarly checks that a Job that failed for good ends the wait long before its
// timeout, after which the test would hang.
func TestWaitEndsEarly(t *testing.T) {
	t.Parallel()
	c, log := open(t)
	refs := clustertest.Create(t, c, clustertest.Namespace(t, c),
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: breaks}\n"+
			"spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x, command: "+
			"[sh, -c, 'echo no room; exit 3']}]}}}\n")
	_, err := c.Wait(t.Context(), refs, testtime.Limit)
	var unready *cluster.NotReadyError
	if !errors.As(err, &unready) || !unready.Final {
		t.Fatal(err)
	}
	if !strings.Contains(log.Text(), "    no room") {
		t.Error("the last lines of the pod are not in the log")
	}
}

// way is a connection to the cluster that a test can cut and restore.
type way struct {
	address string
	mutex   sync.Mutex
	cut     bool
	open    map[net.Conn]bool
}

func newWay(t *testing.T, to string) *way {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{address: listener.Addr().String(), open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); w.set(true) })
	go func() { // accepts connections until the test ends
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(from, to) // carries one connection
		}
	}()
	return w
}

func (w *way) carry(from net.Conn, to string) {
	defer func() { _ = from.Close() }()
	there, err := net.Dial("tcp", to) //nolint:noctx // ended by set
	if err != nil {
		return
	}
	defer func() { _ = there.Close() }()
	w.mutex.Lock()
	w.open[from] = true
	cut := w.cut
	w.mutex.Unlock()
	if cut {
		return
	}
	go func() { _, _ = io.Copy(there, from) }() // the other direction
	_, _ = io.Copy(from, there)
}

// set cuts the way and closes all connections, or restores it.
func (w *way) set(cut bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.cut = cut
	if cut {
		for each := range w.open {
			_ = each.Close()
		}
		clear(w.open)
	}
}

func TestWaitGoesOnWhenTheServerComesBack(t *testing.T) {
	t.Parallel()
	direct, _ := open(t)
	namespace := clustertest.Namespace(t, direct)
	refs := clustertest.Create(t, direct, namespace, deployment("slow", "registry.example/slow-6"))
	content, err := os.ReadFile(clustertest.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	server := strings.TrimPrefix(direct.Address(), "https://")
	between := newWay(t, server)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(content), server, between.address)), 0o600); err != nil {
		t.Fatal(err)
	}
	log := clustertest.NewLog(t)
	c, err := cluster.FromFile(path, "", log)
	if err != nil {
		t.Fatal(err)
	}
	looked := make(chan struct{}, 100)
	c = c.WithTransport(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			looked <- struct{}{}
			return next.RoundTrip(r)
		})
	})
	done := make(chan error)
	go func() { // waits over the cut way
		_, err := c.Wait(t.Context(), refs, testtime.Limit)
		done <- err
	}()
	for range 3 {
		<-looked
	}
	between.set(true)
	<-looked
	between.set(false)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestWaitGoesOnWhileTheServerIsOverloaded checks that Wait retries a server that is
// temporarily unavailable, but not one that forbids the request.
func TestWaitGoesOnWhileTheServerIsOverloaded(t *testing.T) {
	t.Parallel()
	direct, _ := open(t)
	refs := clustertest.Create(t, direct, clustertest.Namespace(t, direct),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
	for code, tries := range map[int]int{http.StatusServiceUnavailable: 2, http.StatusForbidden: 0} {
		calls := 0
		c := direct.WithTransport(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if calls++; calls > 2 {
					return next.RoundTrip(r)
				}
				body := io.NopCloser(strings.NewReader(fmt.Sprintf(
					`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, code)))
				return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
					Body: body, Request: r}, nil
			})
		})
		_, err := c.Wait(t.Context(), refs, testtime.Limit)
		if (err == nil) != (tries > 0) || calls != tries+1 {
			t.Errorf("%d: %v after %d calls", code, err, calls)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
