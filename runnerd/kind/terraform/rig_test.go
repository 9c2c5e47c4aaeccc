package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient/contacttest"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/process"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

const (
	terraformVersion = "1.11.4"
	token            = "the-attempt-token"
)

func TestMain(m *testing.M) {
	if given := os.Getenv(varProcess); given != "" {
		os.Exit(beProcess([]byte(given)))
	}
	os.Exit(m.Run())
}

// rig is the environment of a job: the runner API with its states and lock, one registry
// for both sides, and the runner's own directory and key.
type rig struct {
	t        testing.TB
	key      seal.Identity
	root     string
	stored   string // the directory of the registry
	registry *httptest.Server
	api      *httptest.Server
	jobs     int

	mutex  sync.Mutex
	states []api.State
	lock   *api.StateLock
	locked chan struct{} // gets an element when the lock is taken
	// abandoned means that no version is the newest.
	abandoned bool
	// contests makes every state one of a superseded attempt.
	contests bool
	// unlocking, when set, is called before the lock is freed.
	unlocking func()
	// credentials are the org's credentials for modules, by address; asked are the addresses of all
	// requests.
	credentials map[string]string
	asked       []string
	log         bytes.Buffer // of all jobs
	given       []string     // the results as JSON
}

func newRig(t testing.TB) *rig {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, key: key, root: t.TempDir(), stored: t.TempDir(), locked: make(chan struct{}, 100)}
	r.registry = httptest.NewServer(ocitest.Handler(r.stored))
	t.Cleanup(r.registry.Close)

	mux := http.NewServeMux()
	at := "/runner/v1/jobs/{job}/attempts/{attempt}/state"
	mux.Handle("GET "+at, bearer(http.HandlerFunc(r.getState)))
	mux.Handle("POST "+at, bearer(http.HandlerFunc(r.putState)))
	mux.Handle("POST "+at+"/lock", bearer(http.HandlerFunc(r.lockState)))
	mux.Handle("DELETE "+at+"/lock", bearer(http.HandlerFunc(r.unlockState)))
	mux.Handle("POST /runner/v1/jobs/{job}/attempts/{attempt}/module-credential",
		bearer(http.HandlerFunc(r.getModuleCredential)))
	r.api = httptest.NewServer(contacttest.Unpacked(mux))
	t.Cleanup(r.api.Close)
	return r
}

// getModuleCredential answers like the control plane.
func (r *rig) getModuleCredential(w http.ResponseWriter, request *http.Request) {
	var asked api.ModuleCredentialRequest
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.asked = append(r.asked, asked.Address)
	answer := api.ModuleCredential{}
	if secret, is := r.credentials[asked.Address]; is {
		to, err := seal.ParseRecipient(asked.Recipient)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		sealed, err := to.Seal(seal.ModuleCredentialContext("dev", request.PathValue("job"), asked.Address), []byte(secret))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer.Username, answer.Secret = "git", &sealed
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, request)
	})
}

func (r *rig) getState(w http.ResponseWriter, request *http.Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	version, _ := strconv.Atoi(request.URL.Query().Get("version"))
	if version == 0 && !r.abandoned {
		version = len(r.states)
	}
	if version == 0 || version > len(r.states) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"no_state"}`))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(r.states[version-1])
}

func (r *rig) putState(w http.ResponseWriter, request *http.Request) {
	var state api.State
	if err := json.NewDecoder(request.Body).Decode(&state); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.states) == 0 || r.states[len(r.states)-1].Digest != state.Digest {
		r.states = append(r.states, state)
	}
	if r.contests {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *rig) lockState(w http.ResponseWriter, request *http.Request) {
	var lock api.StateLock
	if err := json.NewDecoder(request.Body).Decode(&lock); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	lock.Holder = request.PathValue("job") + " attempt " + request.PathValue("attempt")
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.lock != nil && r.lock.Holder != lock.Holder {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusLocked)
		_ = json.NewEncoder(w).Encode(r.lock)
		return
	}
	r.lock = &lock
	select {
	case r.locked <- struct{}{}:
	default:
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *rig) unlockState(w http.ResponseWriter, _ *http.Request) {
	if r.unlocking != nil {
		r.unlocking()
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lock = nil
	w.WriteHeader(http.StatusNoContent)
}

func (r *rig) plainHost() artifact.Reference {
	return artifact.Reference{Host: strings.TrimPrefix(r.registry.URL, "http://"), PlainHTTP: true}
}

// env returns the Env that the job process would pass to a handler.
func (r *rig) env(kind api.JobSpecKind) *job.Env {
	r.t.Helper()
	r.jobs++
	dir := filepath.Join(r.root, "spool", fmt.Sprintf("job-%d", r.jobs))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	secrets := &redact.Set{}
	name := fmt.Sprintf("job-%d", r.jobs)
	at := timing.Default()
	remote, err := job.NewAttemptClient(r.api.URL+"/runner/v1/jobs/"+name+"/attempts/1", seal.NewSecret([]byte(token)),
		dir, at)
	if err != nil {
		r.t.Fatal(err)
	}
	log := job.NewLog(&r.log, secrets)
	remote.SetLog(log)
	registry := &job.Registry{Reference: r.plainHost()}
	env := &job.Env{
		Spec: api.JobSpec{Job: name, Attempt: 1, Kind: kind, Org: "dev", TimeoutSeconds: 600},
		Dir:  dir, Root: r.root, Log: log, Redact: secrets, Key: r.key, API: remote,
		Install: registry, Timing: at,
	}
	if kind == api.JobSpecKindBuild {
		env.Vendor, env.Install = registry, nil
	}
	return env
}

// varProcess makes the test's own program a job process that can be killed.
const varProcess = "MODULE_TEST_PROCESS"

// jobInput is the input of a job process.
type jobInput struct {
	API, Registry, Dir, Root, KeyFile string
	Spec                              api.JobSpec
}

// process starts the apply of env in a separate process with its own session.
func (r *rig) process(env *job.Env, keyFile string) *exec.Cmd {
	r.t.Helper()
	told, err := json.Marshal(jobInput{
		API: r.api.URL + "/runner/v1/jobs/" + env.Spec.Job + "/attempts/1", Registry: r.plainHost().Host,
		Dir: env.Dir, Root: env.Root, KeyFile: keyFile, Spec: env.Spec,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	started := exec.Command(os.Args[0])
	started.Env = append(os.Environ(), varProcess+"="+string(told))
	started.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := started.Start(); err != nil {
		r.t.Fatal(err)
	}
	return started
}

// beProcess is the main function of that process.
func beProcess(given []byte) int {
	var told jobInput
	if err := json.Unmarshal(given, &told); err != nil {
		return 2
	}
	key, err := seal.LoadIdentity(told.KeyFile)
	if err != nil || process.Adopt() != nil {
		return 2
	}
	at := timing.Default()
	remote, err := job.NewAttemptClient(told.API, seal.NewSecret([]byte(token)), told.Dir, at)
	if err != nil {
		return 2
	}
	secrets := &redact.Set{}
	registry := &job.Registry{Reference: artifact.Reference{Host: told.Registry, PlainHTTP: true}}
	_, err = deploy.ApplyHandler(Kind{}).Run(context.Background(), &job.Env{
		Spec: told.Spec, Dir: told.Dir, Root: told.Root, Log: job.NewLog(io.Discard, secrets), Redact: secrets,
		Key: key, API: remote,
		Install: registry, Timing: at,
	})
	if err != nil {
		return 1
	}
	return 0
}

// run runs a handler as the job process does, and stores its result.
func (r *rig) run(ctx context.Context, handler job.Handler, env *job.Env) (api.JobResult, error) {
	r.t.Helper()
	result, err := handler.Run(ctx, env)
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

// source packs a tree as the observer does, and returns its reference.
func (r *rig) source(files ...string) api.ArtifactRef {
	r.t.Helper()
	var tree []artifact.File
	for i := 0; i < len(files); i += 2 {
		tree = append(tree, artifact.File{Path: files[i], Content: []byte(files[i+1])})
	}
	packed, err := artifact.Pack(artifact.MediaSource, tree, nil, artifact.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	opened, err := oci.Open(r.plainHost().Child("vendor/source"), oci.Credential{})
	if err != nil {
		r.t.Fatal(err)
	}
	digest, err := opened.Push(context.Background(), packed)
	if err != nil {
		r.t.Fatal(err)
	}
	return api.ArtifactRef{Repository: "vendor/source", Digest: digest}
}

func (r *rig) build(dir string, files ...string) (api.ArtifactRef, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindBuild)
	env.Spec.Build = api.BuildSpec{
		Build: "bld_1", Component: "web", ComponentKind: "terraform_module", Source: r.source(files...), Directory: dir,
		Repository: "vendor/web", TerraformVersion: terraformVersion, Tree: "sha256:0123",
	}
	result, err := r.run(context.Background(), Build{}, env)
	return result.Build.Artifact, err
}

func (r *rig) mustBuild(dir string, files ...string) api.ArtifactRef {
	r.t.Helper()
	built, err := r.build(dir, files...)
	if err != nil {
		r.t.Fatal(err)
	}
	return built
}

// sealed seals a value to the install's key.
func (r *rig) sealed(path, value string) api.SealedValue {
	r.t.Helper()
	return valuestest.SealValue(r.t, r.key, "ins_1", path, value)
}

// stateContext is the seal context of the states of the rig's component.
var stateContext = seal.Context{Install: "ins_1", Kind: seal.KindState, Component: "ic_web"}

func (r *rig) spec(built api.ArtifactRef) api.DeploySpec {
	return api.DeploySpec{
		Install: "acme", InstallID: "ins_1", Component: "web", InstallComponent: "ic_web", ComponentKind: "terraform_module",
		Artifact: built, Terraform: api.TerraformSpec{Version: terraformVersion}, Repository: "install/plans",
		Values: api.Values{Plain: json.RawMessage(`{}`)},
	}
}

func (r *rig) plan(spec api.DeploySpec, destroy bool) (api.PlanResult, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindPlan)
	env.Spec.Plan = api.PlanSpec{Deploy: spec, DesiredDigest: "sha256:desired", Destroy: destroy}
	result, err := r.run(context.Background(), deploy.PlanHandler(Kind{}), env)
	if err == nil && result.Status != job.Succeeded {
		r.t.Fatalf("plan without an error is %s", result.Status)
	}
	return result.Plan, err
}

func (r *rig) mustPlan(spec api.DeploySpec, destroy bool) api.PlanResult {
	r.t.Helper()
	planned, err := r.plan(spec, destroy)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.log.String())
	}
	return planned
}

func applySpec(spec api.DeploySpec, planned api.PlanResult, destroy bool) api.ApplySpec {
	return api.ApplySpec{
		Deploy: spec, Plan: "pln_1", Destroy: destroy, Bundle: planned.Bundle, Basis: planned.Basis,
		ReportDigest: planned.ReportDigest, ContentDigest: "sha256:content",
	}
}

func (r *rig) apply(ctx context.Context, spec api.ApplySpec) (api.JobResult, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply = spec
	return r.run(ctx, deploy.ApplyHandler(Kind{}), env)
}

func (r *rig) mustApply(spec api.ApplySpec) api.ApplyResult {
	r.t.Helper()
	result, err := r.apply(context.Background(), spec)
	if err != nil || result.Status != job.Succeeded {
		r.t.Fatalf("%s %s %v\n%s", result.Status, result.Error, err, r.log.String())
	}
	return result.Apply
}

// everything returns all data that left the job or is on a disk: logs, results, delivered
// states, the registry, and the runner's directory.
func (r *rig) everything() map[string][]byte {
	r.t.Helper()
	states, err := json.Marshal(r.states)
	if err != nil {
		r.t.Fatal(err)
	}
	found := map[string][]byte{"log": r.log.Bytes(), "results": []byte(strings.Join(r.given, "\n")), "states": states}
	for _, root := range []string{r.stored, r.root} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			opened, err := os.Open(name)
			if err != nil {
				return err
			}
			defer func() { _ = opened.Close() }()
			content, err := io.ReadAll(io.LimitReader(opened, 64<<20))
			found[name] = content
			return err
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return found
}

// mustNotLeak checks that no data that left the job contains one of the
// secrets, in any spelling.
func (r *rig) mustNotLeak(secrets ...string) {
	r.t.Helper()
	known := &redact.Set{}
	for _, secret := range secrets {
		known.Add([]byte(secret))
	}
	for where, content := range r.everything() {
		if known.Contains(content) {
			r.t.Errorf("a secret is in %s", where)
		}
	}
}

// mustBeFree checks that nothing is locked and that the workspace is removed.
func (r *rig) mustBeFree() {
	r.t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.lock != nil {
		r.t.Errorf("the state is still locked: %+v", *r.lock)
	}
	if _, err := os.Stat(filepath.Join(r.root, "work", "ic_web")); !os.IsNotExist(err) {
		r.t.Errorf("the workspace is still there: %v", err)
	}
}

// isStale reports whether an apply was rejected as stale, with the given words.
func isStale(err error, words string) bool {
	var moved *job.StaleError
	return errors.As(err, &moved) && strings.Contains(err.Error(), words)
}
