package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

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
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

func TestMain(m *testing.M) {
	RunKustomizeProcess()
	if given := os.Getenv(varProcess); given != "" {
		os.Exit(beProcess([]byte(given)))
	}
	// The real runnerd resembles production more than this program, and starts faster than one
	// with the race detector.
	if bin := os.Getenv("NUON_BIN"); filepath.IsAbs(bin) {
		kustomizeProgram = func() (string, error) { return filepath.Join(bin, "runnerd"), nil }
	}
	os.Exit(m.Run())
}

// rig is the environment of a job: a registry, a key, and a real cluster with
// a separate namespace.
type rig struct {
	t          testing.TB
	key        seal.Identity
	keyFile    string
	registry   artifact.Reference
	kubeconfig string
	cluster    *cluster.Cluster
	// name is the name of the namespace, and of everything else that must be unique.
	name      string
	component string
	root      string
	jobs      int
	// inventory is the inventory that the control plane would store.
	inventory []api.ObjectRef
	values    string
	seconds   int
	log       bytes.Buffer
}

// newRig returns a rig with a cluster.
func newRig(t testing.TB) *rig {
	t.Helper()
	r := bareRig(t)
	r.kubeconfig = clustertest.Kubeconfig(t)
	r.cluster = clustertest.Open(t)
	r.name = clustertest.Namespace(t, r.cluster)
	r.component = "ic-" + r.name
	return r
}

// bareRig returns a rig without a cluster.
func bareRig(t testing.TB) *rig {
	t.Helper()
	root := t.TempDir()
	key, err := seal.CreateIdentity(filepath.Join(root, "key"))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, key: key, registry: ocitest.Registry(t), root: root,
		seconds: int(testtime.Limit / time.Second), keyFile: filepath.Join(root, "key")}
}

// resource returns the client for objects of a kind, bypassing the code under test.
func (r *rig) resource(version, kind, namespace string) dynamic.ResourceInterface {
	r.t.Helper()
	group, v, found := strings.Cut(version, "/")
	if !found {
		group, v = "", version
	}
	made, err := r.cluster.Resource(api.ObjectRef{Group: group, Version: v, Kind: kind, Namespace: namespace})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// make creates an object as another manager.
func (r *rig) make(version, kind, namespace, text string) *unstructured.Unstructured {
	r.t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		r.t.Fatal(err)
	}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	made, err := r.resource(version, kind, namespace).Create(r.t.Context(), u,
		metav1.CreateOptions{FieldManager: "somebody"})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// get reads an object in the rig's namespace, and returns nil if it does not exist.
func (r *rig) get(version, kind, name string) *unstructured.Unstructured {
	r.t.Helper()
	found, err := get(r.t.Context(), r.resource(version, kind, r.name), api.ObjectRef{Kind: kind, Name: name})
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// patch changes an object as another manager.
func (r *rig) patch(version, kind, name, manager, patch string, sub ...string) {
	r.t.Helper()
	_, err := r.resource(version, kind, r.name).Patch(r.t.Context(), name, "application/merge-patch+json", []byte(patch),
		metav1.PatchOptions{FieldManager: manager}, sub...)
	if err != nil {
		r.t.Fatal(err)
	}
}

// env returns the Env that the job process would pass to a handler.
func (r *rig) env(kind api.JobSpecKind) *job.Env {
	r.t.Helper()
	r.jobs++
	dir := filepath.Join(r.root, fmt.Sprintf("job-%d", r.jobs))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	secrets := &redact.Set{}
	registry := &job.Registry{Reference: r.registry}
	return &job.Env{
		Spec: api.JobSpec{Job: fmt.Sprintf("job-%d", r.jobs), Attempt: 1, Kind: kind, Org: "dev", TimeoutSeconds: r.seconds},
		Dir:  dir, Root: r.root, Log: job.NewLog(&r.log, secrets), Redact: secrets, Key: r.key, KubeConfig: r.kubeconfig,
		Vendor: registry, Install: registry, Timing: timing.Default(),
	}
}

// run runs a handler within the job's time.
func (r *rig) run(handler job.Handler, env *job.Env) (api.JobResult, error) {
	//walltime: the job's own time, which is the limit of tests where it must not pass
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Duration(env.Spec.TimeoutSeconds)*time.Second)
	defer cancel()
	return handler.Run(ctx, env)
}

// source packs files as the control plane does.
func (r *rig) source(files ...artifact.File) api.ArtifactRef {
	r.t.Helper()
	packed, err := artifact.Pack(artifact.MediaSource, files, nil, artifact.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	made, err := (&job.Registry{Reference: r.registry}).Push(r.t.Context(), "sources", packed)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// build builds a source.
func (r *rig) build(spec api.KustomizeSpec, files ...artifact.File) (api.ArtifactRef, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindBuild)
	env.Spec.Build = api.BuildSpec{ComponentKind: "kubernetes_manifest", Source: r.source(files...),
		Repository: "built", Tree: "sha256:tree", Kustomize: spec}
	result, err := r.run(Build{}, env)
	return result.Build.Artifact, err
}

// deploy returns the spec of the rig's component for a manifest.
func (r *rig) deploy(text string) api.DeploySpec {
	r.t.Helper()
	built, err := r.build(api.KustomizeSpec{}, artifact.File{Path: fileName, Content: []byte(text)})
	if err != nil {
		r.t.Fatal(err)
	}
	plain := r.values
	if plain == "" {
		plain = "{}"
	}
	return api.DeploySpec{
		Install: "acme", InstallID: "inl1", Component: "objects", InstallComponent: r.component,
		ComponentKind: "kubernetes_manifest",
		Artifact:      built, Repository: "plans", Values: api.Values{Plain: json.RawMessage(plain)},
		Manifest: api.ManifestSpec{Namespace: r.name, Templates: true}, Cluster: api.ClusterSpec{Context: "sandbox"},
	}
}

// planned is a plan with its inputs.
type planned struct {
	api.PlanResult
	report diff.Report
	deploy api.DeploySpec
	spec   api.PlanSpec
}

// plan plans a manifest; an empty one destroys.
func (r *rig) plan(text string) (planned, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindPlan)
	spec := r.deploy(either(text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unused}\n"))
	env.Spec.Plan = api.PlanSpec{Deploy: spec, Inventory: r.inventory, DesiredDigest: "sha256:desired",
		Destroy: text == ""}
	result, err := r.run(deploy.PlanHandler(Kind{}), env)
	made := planned{PlanResult: result.Plan, deploy: spec, spec: env.Spec.Plan}
	if err == nil {
		if err := json.Unmarshal(result.Plan.Report, &made.report); err != nil {
			r.t.Fatal(err)
		}
		if err := made.report.Validate(); err != nil {
			r.t.Errorf("the report is not valid: %v", err)
		}
	}
	return made, err
}

func either(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// applyEnv returns the Env of the job that applies a plan. It also adds the planned objects
// to the inventory, as the control plane does.
func (r *rig) applyEnv(p planned) *job.Env {
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply = api.ApplySpec{
		Deploy: p.deploy, Destroy: p.spec.Destroy, Bundle: p.Bundle, Basis: p.Basis, ReportDigest: p.ReportDigest,
	}
	r.inventory = append(append([]api.ObjectRef{}, r.inventory...), p.Inventory...)
	return env
}

// apply applies a plan.
func (r *rig) apply(p planned) (api.JobResult, error) {
	r.t.Helper()
	result, err := r.run(deploy.ApplyHandler(Kind{}), r.applyEnv(p))
	if err == nil && result.Status == job.Succeeded {
		r.inventory = p.Inventory
	}
	return result, err
}

// must plans and applies a manifest, and fails the test on an error.
func (r *rig) must(text string) (planned, api.JobResult) {
	r.t.Helper()
	p, err := r.plan(text)
	if err != nil {
		r.t.Fatalf("plan: %v", err)
	}
	if !p.Applyable {
		r.t.Fatal("there is nothing to apply")
	}
	result, err := r.apply(p)
	if err != nil || result.Status != job.Succeeded {
		r.t.Fatalf("apply: %v %s %s\n%s", err, result.Status, result.Error, r.log.String())
	}
	return p, result
}

// told returns the action and the address of each change in the report.
func (p planned) told() []string {
	out := []string{}
	for _, c := range p.report.Changes {
		out = append(out, string(c.Action)+" "+c.Address)
	}
	return out
}

// varProcess makes the test's own program a job process that kills itself before its n-th step.
const varProcess = "MANIFEST_TEST_PROCESS"

type process struct {
	Spec                                api.JobSpec
	Registry, KubeConfig, Dir, Key, Log string
	Step                                int
}

// killed runs an apply that ends before its n-th step, and returns that step, or "" if
// there was none. At the first step a process is killed. At the others an apply in this
// process is canceled and sends nothing more, which takes a fraction of the work and leaves
// the same in the cluster.
func (r *rig) killed(p planned, step int) string {
	r.t.Helper()
	if step == 1 {
		return r.killedProcess(p, step)
	}
	env := r.applyEnv(p)
	ctx, cancel := context.WithCancel(testtime.Context(r.t))
	defer cancel()
	reached := make(chan string, 1)
	handler := deploy.ApplyHandler(Kind{before: atStep(step, func(what string) { reached <- what; cancel() })})
	result, err := handler.Run(ctx, env)
	select {
	case what := <-reached:
		return what
	default:
	}
	if err != nil || result.Status != job.Succeeded {
		r.t.Fatalf("the apply that was to end at step %d: %v %s", step, err, result.Error)
	}
	return ""
}

// atStep returns a function that calls die before the n-th step, and blocks all
// others until it returns.
func atStep(n int, die func(what string)) func(what string) {
	var mutex sync.Mutex
	step := 0
	return func(what string) {
		mutex.Lock()
		defer mutex.Unlock()
		if step++; step == n {
			die(what)
		}
	}
}

// killedProcess does the same in a separate process that is killed.
func (r *rig) killedProcess(p planned, step int) string {
	r.t.Helper()
	env := r.applyEnv(p)
	told, err := json.Marshal(process{
		Spec: env.Spec, Registry: r.registry.Host, KubeConfig: env.KubeConfig, Dir: env.Dir, Key: r.keyFile, Step: step,
		Log: filepath.Join(env.Dir, "step"),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	started := exec.Command(os.Args[0])
	started.Env = append(os.Environ(), varProcess+"="+string(told))
	said, err := started.CombinedOutput()
	if err == nil {
		return ""
	}
	if status, ok := started.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		r.t.Fatalf("the process ended otherwise: %v %s", err, said)
	}
	what, err := os.ReadFile(filepath.Join(env.Dir, "step"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(what)
}

// beProcess is the main function of that process.
func beProcess(given []byte) int {
	var told process
	if err := json.Unmarshal(given, &told); err != nil {
		return 2
	}
	key, err := seal.LoadIdentity(told.Key)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	secrets := &redact.Set{}
	registry := &job.Registry{Reference: artifact.Reference{Host: told.Registry, PlainHTTP: true}}
	handler := deploy.ApplyHandler(Kind{before: atStep(told.Step, func(what string) {
		_ = os.WriteFile(told.Log, []byte(what), 0o600)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})})
	result, err := handler.Run(context.Background(), &job.Env{
		Spec: told.Spec, Dir: told.Dir, Root: told.Dir, Log: job.NewLog(io.Discard, secrets), Redact: secrets,
		Key: key, KubeConfig: told.KubeConfig,
		Vendor: registry, Install: registry, Timing: timing.Default(),
	})
	if err != nil || result.Status != job.Succeeded {
		fmt.Fprintln(os.Stderr, err, result.Error)
		return 1
	}
	return 0
}

// deleteWebhook removes a webhook's configuration, even after a failed test.
func (r *rig) deleteWebhook(name string) {
	_ = r.resource("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "").Delete(context.Background(),
		name, metav1.DeleteOptions{})
}
