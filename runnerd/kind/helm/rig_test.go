package helm_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/kind/helm"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

func TestMain(m *testing.M) {
	if given := os.Getenv(varProcess); given != "" {
		os.Exit(beProcess([]byte(given)))
	}
	os.Exit(m.Run())
}

// rig is the environment of a job: the install's registry, the runner's key and its
// access to the cluster, and a namespace for this rig only.
type rig struct {
	t         *testing.T
	key       seal.Identity
	keyFile   string
	registry  *job.Registry
	cluster   *cluster.Cluster
	namespace string
	// kubeconfig is the runner's kubeconfig.
	kubeconfig string
	attempts   int
	// secrets are the known secrets of the last job.
	secrets *redact.Set

	mutex sync.Mutex
	log   bytes.Buffer // of all jobs
	given []string     // the results that left the job, as JSON
}

// Write appends to the log of all jobs.
func (r *rig) Write(p []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.log.Write(p)
}

func (r *rig) logged() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.log.String()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	file := filepath.Join(t.TempDir(), "install.key")
	key, err := seal.CreateIdentity(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, key: key, keyFile: file, registry: &job.Registry{Reference: ocitest.Registry(t)},
		cluster: clustertest.Open(t), kubeconfig: clustertest.Kubeconfig(t)}
	r.namespace = clustertest.Namespace(t, r.cluster)
	return r
}

func (r *rig) install() *job.Registry { return r.registry }

// env returns the job process's environment for a handler.
func (r *rig) env(kind api.JobSpecKind) *job.Env {
	r.t.Helper()
	r.attempts++
	secrets := &redact.Set{}
	r.secrets = secrets
	return &job.Env{
		Spec: api.JobSpec{Job: fmt.Sprintf("job-%d", r.attempts), Attempt: 1, Kind: kind, Org: "dev", TimeoutSeconds: 600},
		Dir:  r.t.TempDir(), Log: job.NewLog(r, secrets), Redact: secrets, Key: r.key, KubeConfig: r.kubeconfig,
		Install: r.install(), Timing: timing.Default(),
	}
}

// chart packs a chart, given as pairs of path and content, as a build does, and
// returns its reference.
func (r *rig) chart(pairs ...string) api.ArtifactRef {
	r.t.Helper()
	var files []artifact.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, artifact.File{Path: pairs[i], Content: []byte(pairs[i+1])})
	}
	if !slices.ContainsFunc(files, func(f artifact.File) bool { return f.Path == "Chart.yaml" }) {
		files = append(files,
			artifact.File{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: shop\nversion: 1.2.3\n")})
	}
	packed, err := artifact.Pack(artifact.MediaChart, files, map[string]string{artifact.AnnotationFormat: "1"},
		artifact.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	ref, err := r.install().Push(r.t.Context(), "install/web", packed)
	if err != nil {
		r.t.Fatal(err)
	}
	return ref
}

func (r *rig) spec(built api.ArtifactRef) api.DeploySpec {
	return api.DeploySpec{
		Install: "acme", InstallID: "ins_1", Component: "web", InstallComponent: "ic_" + r.namespace,
		ComponentKind: "helm_chart",
		Artifact:      built, Repository: "install/plans", Values: api.Values{Plain: json.RawMessage(`{}`)},
		Helm:    api.HelmSpec{Release: "shop", Namespace: r.namespace, Values: map[string]json.RawMessage{}},
		Cluster: api.ClusterSpec{Context: "sandbox", Path: []string{"sandbox", "outputs", "cluster"}},
	}
}

func (r *rig) keep(result api.JobResult, err error, env *job.Env) (api.JobResult, error) {
	if err != nil {
		result.Error = env.Redact.String(err.Error())
	}
	encoded, jsonErr := json.Marshal(result)
	if jsonErr != nil {
		r.t.Fatal(jsonErr)
	}
	r.given = append(r.given, string(encoded))
	return result, err
}

func (r *rig) plan(spec api.DeploySpec, destroy bool) (api.PlanResult, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindPlan)
	env.Spec.Plan = api.PlanSpec{Deploy: spec, DesiredDigest: "sha256:desired", Destroy: destroy}
	result, err := deploy.PlanHandler(helm.Kind{}).Run(testtime.Context(r.t), env)
	result, err = r.keep(result, err, env)
	return result.Plan, err
}

func (r *rig) mustPlan(spec api.DeploySpec, destroy bool) api.PlanResult {
	r.t.Helper()
	planned, err := r.plan(spec, destroy)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.logged())
	}
	return planned
}

func applySpec(spec api.DeploySpec, planned api.PlanResult, destroy bool) api.ApplySpec {
	return api.ApplySpec{
		Deploy: spec, Plan: "pln_1", Destroy: destroy, Bundle: planned.Bundle, Basis: planned.Basis,
		ReportDigest: planned.ReportDigest, ContentDigest: "sha256:content",
	}
}

// apply applies with a time limit.
func (r *rig) apply(spec api.ApplySpec, within time.Duration) (api.JobResult, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply = spec
	ctx, cancel := context.WithTimeout(r.t.Context(), within) //walltime: testtime.Limit where it must not pass
	defer cancel()
	result, err := deploy.ApplyHandler(helm.Kind{}).Run(ctx, env)
	return r.keep(result, err, env)
}

func (r *rig) mustApply(spec api.ApplySpec) api.ApplyResult {
	r.t.Helper()
	result, err := r.apply(spec, testtime.Limit)
	if err != nil || result.Status != job.Succeeded {
		r.t.Fatalf("%s %s %v\n%s", result.Status, result.Error, err, r.logged())
	}
	return result.Apply
}

// deploy plans and applies.
func (r *rig) deploy(spec api.DeploySpec) (api.PlanResult, api.ApplyResult) {
	r.t.Helper()
	planned := r.mustPlan(spec, false)
	return planned, r.mustApply(applySpec(spec, planned, false))
}

// object returns an object of the rig's namespace, by API version and kind; nil if it
// does not exist.
func (r *rig) object(apiVersion, kind, name string) map[string]any {
	r.t.Helper()
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	if strings.HasPrefix(group, r.namespace) {
		r.cluster.Invalidate() // its definition may be new
	}
	found := clustertest.Get(r.t, r.cluster, api.ObjectRef{Group: group, Version: version, Kind: kind,
		Namespace: r.namespace, Name: name})
	if found == nil {
		return nil
	}
	return found.Object
}

// mustNotLeak verifies that no secret is in the log or in a result.
func (r *rig) mustNotLeak(secrets ...string) {
	r.t.Helper()
	for _, secret := range secrets {
		if strings.Contains(r.logged(), secret) {
			r.t.Errorf("%s is in the log", secret)
		}
		for _, result := range r.given {
			if strings.Contains(result, secret) {
				r.t.Errorf("%s is in the result %s", secret, result)
			}
		}
	}
}

func reportOf(t *testing.T, planned api.PlanResult) *diff.Report {
	t.Helper()
	var read diff.Report
	if err := json.Unmarshal(planned.Report, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(); err != nil {
		t.Fatal(err)
	}
	if read.Digest() != planned.ReportDigest {
		t.Fatalf("the report's digest is %s, the result says %s", read.Digest(), planned.ReportDigest)
	}
	return &read
}

func outputOf(outputs []api.Output, name string) api.Output {
	at := slices.IndexFunc(outputs, func(output api.Output) bool { return output.Name == name })
	if at < 0 {
		return api.Output{}
	}
	return outputs[at]
}

// isStale reports whether an apply ended as stale, with words in its error.
func isStale(err error, words string) bool {
	_, stale := err.(*job.StaleError) //nolint:errorlint // the handler has to give it as it is
	return stale && strings.Contains(err.Error(), words)
}

// proxy forwards requests to the cluster. It counts writes, and can run a function at
// one, or block all requests.
type proxy struct {
	*httptest.Server
	mutex  sync.Mutex
	writes int
	// at holds functions by number of writes; each is called after the server did
	// that write and before the response is sent.
	at map[int]func()
	// cut blocks all requests. Each change starts another era, and requests on connections of earlier ones
	// are blocked for ever: the server may read one after the end of its connection.
	cut bool
	era int
	// written lists the writes; most is the number of writes in the last apply that
	// was to be killed.
	written []string
	most    int
}

// through sends the rig's runner through a proxy.
func (r *rig) through() *proxy {
	r.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", clustertest.Kubeconfig(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		r.t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		r.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(config.CAData)
	p := &proxy{at: map[int]func(){}}
	forward := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.Out.Header.Set("Authorization", "Bearer "+config.BearerToken)
		},
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
		ModifyResponse: func(response *http.Response) error {
			p.did(response.Request)
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if p.isCut(request) {
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, request)
	}))
	p.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return context.WithValue(ctx, eraOfConnection{}, p.era)
	}
	p.Start()
	r.t.Cleanup(p.Close)
	r.kubeconfig = filepath.Join(r.t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + p.URL +
		"'}}]\nusers: [{name: u, user: {token: proxied}}]\n" +
		"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
	if err := os.WriteFile(r.kubeconfig, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// eraOfConnection is the key of the era in which the connection of a request was accepted.
type eraOfConnection struct{}

func (p *proxy) isCut(request *http.Request) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.cut || request.Context().Value(eraOfConnection{}) != p.era
}

func (p *proxy) setCut(cut bool) {
	p.mutex.Lock()
	p.cut = cut
	p.era++
	p.mutex.Unlock()
	p.CloseClientConnections()
}

// did counts a write that the server has answered.
func (p *proxy) did(request *http.Request) {
	if request.Method == http.MethodGet || request.URL.Query().Get("dryRun") != "" {
		return
	}
	p.mutex.Lock()
	p.writes++
	p.written = append(p.written, request.Method+" "+request.URL.Path)
	do := p.at[p.writes]
	p.mutex.Unlock()
	if do != nil {
		do()
		panic(http.ErrAbortHandler) // no answer
	}
}

// count resets the counter, and calls do at the n-th write.
func (p *proxy) count(n int, do func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.writes, p.written, p.at = 0, nil, map[int]func(){n: do}
}

// stop removes the function.
func (p *proxy) stop() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.at = nil
}

func (p *proxy) seen() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.written)
}

// varProcess makes the test's own program the process of an apply, so that it can be killed.
const varProcess = "CHART_TEST_PROCESS"

// process is the input of that process.
type process struct {
	Registry, Dir, KeyFile, KubeConfig string
	Spec                               api.JobSpec
}

// start starts an apply in its own process.
func (r *rig) start(spec api.ApplySpec) *exec.Cmd {
	r.t.Helper()
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply = spec
	told, err := json.Marshal(process{Registry: r.install().Reference.Host, Dir: env.Dir, KeyFile: r.keyFile,
		KubeConfig: env.KubeConfig, Spec: env.Spec})
	if err != nil {
		r.t.Fatal(err)
	}
	started := exec.Command(os.Args[0]) //nolint:noctx // killed by the test
	started.Env = append(os.Environ(), varProcess+"="+string(told))
	started.Stdout, started.Stderr = r, r
	if err := started.Start(); err != nil {
		r.t.Fatal(err)
	}
	return started
}

// beProcess is the main function of that process.
func beProcess(given []byte) int {
	var told process
	if err := json.Unmarshal(given, &told); err != nil {
		return 2
	}
	key, err := seal.LoadIdentity(told.KeyFile)
	if err != nil {
		return 2
	}
	secrets := &redact.Set{}
	ctx, cancel := context.WithTimeout(context.Background(), testtime.Limit) //walltime: only ends a hang
	defer cancel()
	_, err = deploy.ApplyHandler(helm.Kind{}).Run(ctx, &job.Env{
		Spec: told.Spec, Dir: told.Dir, Log: job.NewLog(os.Stdout, secrets), Redact: secrets, Key: key,
		KubeConfig: told.KubeConfig,
		Install:    &job.Registry{Reference: artifact.Reference{Host: told.Registry, PlainHTTP: true}},
		Timing:     timing.Default(),
	})
	if err != nil {
		fmt.Println("the apply:", err)
		return 1
	}
	return 0
}

// patch changes an object, or a subresource of it, as another client.
func (r *rig) patch(apiVersion, kind, name, part, patch string) {
	r.t.Helper()
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	resource, err := r.cluster.Resource(api.ObjectRef{Group: group, Version: version, Kind: kind, Namespace: r.namespace})
	if err != nil {
		r.t.Fatal(err)
	}
	var parts []string
	if part != "" {
		parts = []string{part}
	}
	if _, err := resource.Patch(r.t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "somebody"}, parts...); err != nil {
		r.t.Fatal(err)
	}
}
