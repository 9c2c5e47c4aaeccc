package podlogs_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/podlogs"
)

// rig is a component in a namespace of a real cluster, and what the job process passes to the handler.
type rig struct {
	*testing.T
	cluster   *cluster.Cluster
	namespace string
	env       *job.Env
	log       *testbuffer.Buffer
	refs      []api.ObjectRef
}

// messages returns the messages of the log, with their levels.
func (r *rig) messages() string {
	var all strings.Builder
	for line := range strings.Lines(r.log.String()) {
		var l api.LogLine
		if json.Unmarshal([]byte(line), &l) == nil {
			all.WriteString(string(l.L) + " " + l.M + "\n")
		}
	}
	return all.String()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, cluster: clustertest.Open(t), log: &testbuffer.Buffer{}}
	r.namespace = clustertest.Namespace(t, r.cluster)
	known := &redact.Set{}
	known.Add([]byte("planted-password-1"))
	r.env = &job.Env{Dir: t.TempDir(), Root: t.TempDir(), KubeConfig: clustertest.Kubeconfig(t), Key: key, Redact: known,
		Log: job.NewLog(r.log, known)}
	r.env.Policy.Debug.Logs = true
	r.env.Spec = api.JobSpec{Job: "job_1", Attempt: 1, Kind: api.JobSpecKindLogs, Logs: api.LogsSpec{
		Install: "acme", InstallID: "ins_1", RequestedBy: "vera",
		Request: api.NewLogRequest{Component: "web", Reason: "it is slow"},
		Part: api.HealthPart{Cluster: deploy.ClusterIdentity(key, "ic_web", "web", r.cluster.Identity()),
			Deploy: api.DeploySpec{
				InstallID: "ins_1", Component: "web", InstallComponent: "ic_web", ComponentKind: "kubernetes_manifest",
				Cluster: api.ClusterSpec{Context: "sandbox"},
			}},
	}}
	return r
}

// run handles the request as the job process does.
func (r *rig) run(ctx context.Context) (api.JobResult, error) {
	if err := r.env.Policy.CheckSpec("logs", r.env.Spec); err != nil {
		return api.JobResult{}, err
	}
	return podlogs.Handler{"kubernetes_manifest": func(context.Context, *job.Env, api.HealthPart) (*cluster.Cluster,
		[]api.ObjectRef, error) {
		return r.cluster, r.refs, nil
	}}.Run(ctx, r.env)
}

// outcome is what run returns.
type outcome struct {
	result api.JobResult
	err    error
}

// start is run in another goroutine.
func (r *rig) start(ctx context.Context) <-chan outcome {
	ended := make(chan outcome, 1)
	go func() {
		result, err := r.run(ctx)
		ended <- outcome{result, err}
	}()
	return ended
}

// records returns the events of the owner's log, a line each.
func (r *rig) records() string {
	r.Helper()
	events, err := audit.Read(r.env.Root, time.Time{})
	if err != nil {
		r.Fatal(err)
	}
	var all strings.Builder
	for _, e := range events {
		all.WriteString(strings.Join([]string{e.What, e.Job, e.Install, e.Component, e.Reason}, "|") + "\n")
	}
	return all.String()
}

// printing returns a Job whose container prints what a script does.
func printing(name, script string) string {
	quoted, _ := json.Marshal(script) // a text always encodes
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name +
		"}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x, command: [sh, -c, " +
		string(quoted) + "]}]}}}\n"
}

// TestLines checks that lines arrive with the names of their pod and container, without known secrets and without
// sequences that a terminal acts on, and that the request is on record.
func TestLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.refs = clustertest.Create(t, r.cluster, r.namespace, printing("once", `printf 'a\033[31mred\033[0m\033]0;title\007b\n'
printf 'planted-pass'; printf 'word-1 \033[2Jcleared\n'
printf 'planted-\033[1mpassword-1\n'
printf 'tab\there \001\302\233 \342\200\256reversed\r\nno newline'`))
	if _, err := r.cluster.Wait(t.Context(), r.refs, testtime.Limit); err != nil {
		t.Fatal(err)
	}
	result, err := r.run(t.Context())
	if err != nil || result.Status != job.Succeeded || result.Logs.Lines != 5 || result.Logs.Containers != 1 {
		t.Fatalf("%+v %v\n%s", result, err, r.messages())
	}
	got := r.messages()
	for _, want := range []string{"/main | aredb\n", "/main | (sensitive) cleared\n", "/main | (sensitive)\n",
		"/main | tab\there \uFFFD\uFFFD \uFFFDreversed\n", "/main | no newline\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	const want = "logs requested|job_1|ins_1|web|vera, as the control plane names them: it is slow\n" +
		"logs ended|job_1|ins_1|web|succeeded: sent 5 lines ("
	if got := r.records(); !strings.HasPrefix(got, want) {
		t.Errorf("on record is %s", got)
	}
}

// TestAFlood checks that a container that prints without end is read slowly and only up to the bound of a request, that
// no line is dropped before that, and that following finds a pod that starts later.
func TestAFlood(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env.Spec.Logs.Request.Follow = true
	name := api.ObjectRef{Group: "batch", Version: "v1", Kind: "Job", Namespace: r.namespace, Name: "flood"}
	r.refs = []api.ObjectRef{name}
	ended := r.start(t.Context())
	testtime.Until(t, "the request waits for pods",
		func() bool { return strings.Contains(r.messages(), "no pod of web has started") })
	clustertest.Create(t, r.cluster, r.namespace,
		printing("flood", "head -c 60000000 /dev/zero | tr '\\0' x | fold -w 3000"))
	got := testtime.Receive(t, ended, "the request ends")
	if got.err != nil || got.result.Status != job.Succeeded || got.result.Logs.Bytes < 8<<20 ||
		got.result.Logs.Bytes > 8<<20+8<<10 {
		t.Fatalf("%+v", got)
	}
	log := r.messages()
	if !strings.Contains(log, "has sent 8 MiB of log lines") || strings.Contains(log, "dropped") {
		t.Errorf("the log ends with %s", log[max(0, len(log)-500):])
	}
}

// TestTheEndOfARequest checks that a request that follows ends with its time, the owner's or the request's, and with a
// cancel.
func TestTheEndOfARequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		own, asked int
		want       api.JobResultStatus
	}{
		"its own":     {asked: 1, want: api.JobResultStatusSucceeded},
		"the owner's": {own: 1, asked: 600, want: api.JobResultStatusSucceeded},
		"a cancel":    {asked: 600, want: api.JobResultStatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.env.Spec.Logs.Request.Follow, r.env.Spec.Logs.Request.TimeoutSeconds = true, test.asked
			r.env.Policy.Debug.TimeoutSeconds = test.own
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := r.start(ctx)
			if test.want == api.JobResultStatusCancelled {
				testtime.Until(t, "it follows",
					func() bool { return strings.Contains(r.messages(), "no pod of web has started") })
				stop()
			}
			if got := testtime.Receive(t, ended, "the request ends"); got.err != nil || got.result.Status != test.want {
				t.Errorf("%+v", got)
			}
			if !strings.Contains(r.records(), "logs ended|") {
				t.Errorf("the end is not on record: %s", r.records())
			}
		})
	}
}

// TestRefused checks requests that the runner refuses although the control plane made them.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(r *rig)
		want   string
	}{
		"not allowed": {func(r *rig) { r.env.Policy.Debug.Logs = false }, "does not allow requests for logs"},
		"a component kind that is not allowed": {func(r *rig) { r.env.Policy.Components = &[]string{"helm_chart"} },
			"does not allow components of kind kubernetes_manifest"},
		"another cluster": {func(r *rig) { r.env.Spec.Logs.Part.Cluster.Identity = "sha256:00" }, "has not applied it"},
		"another component's cluster": {func(r *rig) { r.env.Spec.Logs.Part.Deploy.InstallComponent = "ic_other" },
			"has not applied it"},
		"another component": {func(r *rig) { r.env.Spec.Logs.Part.Deploy.Component = "db" }, "names another"},
		"a kind without pods": {func(r *rig) { r.env.Spec.Logs.Part.Deploy.ComponentKind = "terraform_module" },
			"have no pods"},
		"no place for the record": {func(r *rig) {
			if err := os.MkdirAll(filepath.Join(r.env.Root, "audit", "audit.log"), 0o700); err != nil {
				r.Fatal(err)
			}
		}, "write the audit log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			test.change(r)
			if _, err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
