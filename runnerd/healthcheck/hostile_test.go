package healthcheck_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/healthcheck"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/values"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

const install, component = "ins_1", "ic_web"

// rig is a runner with a listener that counts connections, a directory in which programs leave
// a trace, and a secret of the install.
type rig struct {
	*testing.T
	key       seal.Identity
	known     *redact.Set
	log       strings.Builder
	server    *httptest.Server
	authority string
	connected atomic.Int32
	sent      atomic.Value // the Authorization header of the last request
	traces    string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	r := &rig{T: t, known: &redact.Set{}, traces: t.TempDir()}
	var err error
	if r.key, err = seal.NewIdentity(); err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.sent.Store(request.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.3"}`))
	}))
	r.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			r.connected.Add(1)
		}
	}
	r.server.StartTLS()
	t.Cleanup(r.server.Close)
	r.authority = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw}))
	// Each login program of a cloud is replaced by one that leaves a trace.
	path := t.TempDir()
	for _, name := range []string{"aws", "gke-gcloud-auth-plugin", "kubelogin"} {
		r.program(filepath.Join(path, name))
	}
	t.Setenv("PATH", path+":"+os.Getenv("PATH"))
	return r
}

// program writes a program that leaves a trace and prints a credential.
func (r *rig) program(path string) {
	r.Helper()
	text := "#!/bin/sh\ntouch " + r.traces + "/ran\n" +
		`echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"planted-by-program"}}'` + "\n"
	testprogram.Write(r, path, text)
}

// look sends a request to the cluster, as the kinds do, and returns the health.
func look(_ context.Context, env *job.Env, part api.HealthPart) (api.Health, error) {
	opened, err := values.Open(part.Deploy.InstallID, part.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.Health{}, err
	}
	found, err := cluster.Open(env, part.Deploy.Cluster, opened)
	if err != nil {
		return api.Health{}, err
	}
	client, err := found.RESTClientGetter("x").ToDiscoveryClient()
	if err != nil {
		return api.Health{}, err
	}
	if _, err = client.ServerVersion(); err != nil {
		return api.Health{}, err
	}
	return api.Health{Status: api.HealthStatusReady, Objects: []api.ObjectHealth{}}, nil
}

// env returns the Env of a job with one part.
func (r *rig) env(part api.HealthPart, rule policy.Rule) *job.Env {
	return &job.Env{
		Redact: r.known, Log: job.NewLog(&r.log, r.known), Key: r.key, Policy: rule,
		Spec: api.JobSpec{Kind: api.JobSpecKindHealth,
			Health: api.HealthSpec{InstallID: install, Parts: []api.HealthPart{part}}},
	}
}

func (r *rig) run(part api.HealthPart, rule policy.Rule) api.JobResult {
	r.Helper()
	env := r.env(part, rule)
	if err := rule.CheckSpec("health", env.Spec); err != nil { // the job process does this first
		return api.JobResult{Status: api.JobResultStatusFailed, Error: err.Error()}
	}
	result, err := healthcheck.Handler{"helm_chart": look, "kubernetes_manifest": look}.Run(r.Context(), env)
	if err != nil {
		r.Fatal(err)
	}
	return result
}

// part returns a part whose cluster is described by outputs that the runner itself reported,
// and that it has applied to.
func (r *rig) part(outputs map[string]any, rule policy.Rule) api.HealthPart {
	r.Helper()
	encoded, err := json.Marshal(outputs)
	if err != nil {
		r.Fatal(err)
	}
	plain, err := json.Marshal(map[string]any{"sandbox": map[string]any{"outputs": map[string]any{"cluster": outputs}}})
	if err != nil {
		r.Fatal(err)
	}
	part := api.HealthPart{Inventory: []api.ObjectRef{}, Deploy: api.DeploySpec{
		InstallID: install, Component: "web", InstallComponent: component, ComponentKind: "helm_chart",
		Cluster: api.ClusterSpec{Context: "sandbox", Path: []string{"sandbox", "outputs", "cluster"}},
		Values: api.Values{
			Plain: plain, Sealed: []api.SealedValue{},
			Proofs: []api.ValueProof{valuestest.Proof(r, r.key, install, "sandbox.outputs.cluster", string(encoded))},
		},
	}}
	part.Cluster = r.applied(part, rule)
	return part
}

// applied returns the identity of a part's cluster, as an apply does.
func (r *rig) applied(part api.HealthPart, rule policy.Rule) api.ClusterIdentity {
	r.Helper()
	opened, err := values.Open(install, part.Deploy.Values, r.key, &redact.Set{})
	if err != nil {
		r.Fatal(err)
	}
	found, err := cluster.Open(r.env(part, rule), part.Deploy.Cluster, opened)
	if err != nil {
		r.Fatal(err)
	}
	_ = os.Remove(filepath.Join(r.traces, "ran"))
	return deploy.ClusterIdentity(r.key, component, part.Deploy.Component, found.Identity())
}

func (r *rig) ran() bool {
	_, err := os.Stat(filepath.Join(r.traces, "ran"))
	return err == nil
}

func rule(t *testing.T, text string) policy.Rule {
	t.Helper()
	file, err := policy.Parse("runner.toml", []byte(text+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return file.RuleAt(fixed)
}

func TestHealthOfAClusterThatWasAppliedTo(t *testing.T) {
	r := newRig(t)
	open := policy.Default().RuleAt(fixed)
	part := r.part(map[string]any{"endpoint": r.server.URL, "certificate_authority_data": r.authority,
		"token": "planted-token"}, open)
	if got := r.run(part, open); got.Status != api.JobResultStatusSucceeded || r.connected.Load() == 0 ||
		r.sent.Load() != "Bearer planted-token" {
		t.Errorf("%+v, %v", got, r.sent.Load())
	}
}

// TestHealthOfAHostileControlPlane runs health jobs of a hostile control plane. For each
// of them no program is started, no connection is made, and no secret is opened.
func TestHealthOfAHostileControlPlane(t *testing.T) {
	const planted = "planted-db-password"
	exec := map[string]any{"command": "/bin/sh", "args": []any{"-c", "touch $TRACE/ran"}}
	for name, test := range map[string]struct {
		file   string
		change func(r *rig, p *api.HealthPart)
		want   string
		opened bool // the secret is read in the job process, and never leaves it
	}{
		"a program of plain values": {change: func(r *rig, p *api.HealthPart) {
			r.plain(p,
				map[string]any{"endpoint": r.server.URL, "exec": exec})
		}, want: "no runner of this install reported"},
		"only health is allowed": {file: `jobs = ["health"]`, change: func(r *rig,
			p *api.HealthPart) {
			r.plain(p, map[string]any{"endpoint": r.server.URL, "exec": exec})
		}, want: "no runner of this install reported"},
		"outside the window": {file: "[window]\nhours = \"03:00-03:01\"\nzone = \"UTC\"",
			change: func(r *rig, p *api.HealthPart) { r.plain(p, map[string]any{"endpoint": r.server.URL, "exec": exec}) },
			want:   "no runner of this install reported"},
		"no cluster named": {change: func(_ *rig, p *api.HealthPart) { p.Cluster = api.ClusterIdentity{} },
			want: "waits for its next apply"},
		"a hash made up": {change: func(_ *rig, p *api.HealthPart) {
			p.Cluster.Hash = strings.Repeat("0",
				len(p.Cluster.Hash))
		}, want: "waits for its next apply"},
		"another component's": {change: func(r *rig, p *api.HealthPart) {
			p.Cluster = deploy.ClusterIdentity(r.key, "ic_other", "web", p.Cluster.Identity)
		}, want: "waits for its next apply"},
		"another name": {change: func(_ *rig, p *api.HealthPart) { p.Deploy.Component = "db" },
			want: "waits for its next apply"},
		"a key that was lost": {change: func(r *rig, p *api.HealthPart) { r.otherKey() }, want: "waits for its next apply"},
		"a foreign endpoint": {change: func(r *rig, p *api.HealthPart) {
			r.plain(p, map[string]any{"endpoint": r.server.URL, "certificate_authority_data": r.authority})
		}, want: "no runner of this install reported"},
		"a secret as its token": {change: func(r *rig, p *api.HealthPart) {
			r.secretAt(p, planted, "sandbox", "outputs",
				"cluster", "token")
		}, want: "no sealed value belongs there"},
		"a secret as the cluster": {change: func(r *rig, p *api.HealthPart) {
			r.secretAt(p, planted, "sandbox", "outputs",
				"cluster")
		}, want: "sealed for another use"},
		"a secret in its own place": {change: func(r *rig, p *api.HealthPart) {
			r.secretAt(p, planted, "inputs", "inputs", "password")
			p.Deploy.Cluster.Path = []string{"inputs", "inputs", "password"}
		}, want: "is no object", opened: true},
		"inputs as the cluster": {change: func(r *rig, p *api.HealthPart) {
			r.elsewhere(p, "inputs", "inputs",
				"cluster")
		}, want: "bug in the control plane"},
		"an output of another name": {change: func(r *rig, p *api.HealthPart) {
			r.elsewhere(p, "sandbox", "outputs",
				"search")
		}, want: "bug in the control plane"},
		"an action's output": {change: func(r *rig, p *api.HealthPart) {
			r.elsewhere(p, "actions", "workflows", "a",
				"outputs", "cluster")
		}, want: "bug in the control plane"},
		"GCP by its location": {change: func(r *rig, p *api.HealthPart) {
			r.plain(p, map[string]any{"endpoint": r.server.URL, "certificate_authority_data": r.authority, "location": "eu",
				"project": "p", "name": "n"})
		}, want: "no runner of this install reported"},
		"a look-alike of EKS": {change: func(r *rig, p *api.HealthPart) {
			r.plain(p, map[string]any{"endpoint": "https://x.gr7.us-east-1.eks.amazonaws.com.evil", "name": "n"})
		}, want: "no runner of this install reported"},
		"a kubeconfig with exec": {change: func(r *rig, p *api.HealthPart) {
			r.plain(p,
				map[string]any{"kubeconfig": kubeconfig(r.server.URL)})
		}, want: "no runner of this install reported"},
		"a kind that is not allowed": {file: `components = ["kubernetes_manifest"]`,
			change: func(*rig, *api.HealthPart) {}, want: "does not allow components of kind helm_chart"},
		"another known cluster": {change: func(r *rig, p *api.HealthPart) {
			other := r.part(map[string]any{"endpoint": "https://other.example", "certificate_authority_data": r.authority,
				"token": "t"}, policy.Default().RuleAt(fixed))
			p.Cluster = other.Cluster
		}, want: "is not the one that this component was last applied to"},
		"another login": {change: func(r *rig, p *api.HealthPart) {
			other := r.part(map[string]any{
				"endpoint": r.server.URL, "certificate_authority_data": r.authority,
				"client_certificate_data": r.authority, "client_key_data": r.authority,
			}, policy.Default().RuleAt(fixed))
			p.Cluster = other.Cluster
		}, want: "is not the one that this component was last applied to"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			t.Setenv("TRACE", r.traces)
			part := r.part(map[string]any{"endpoint": r.server.URL, "certificate_authority_data": r.authority,
				"token": "planted-token"}, policy.Default().RuleAt(fixed))
			test.change(r, &part)
			got := r.run(part, rule(t, test.file))
			if got.Status != api.JobResultStatusFailed || !strings.Contains(got.Error, test.want) {
				t.Errorf("%s: %q, want %q", got.Status, got.Error, test.want)
			}
			if r.ran() {
				t.Error("a program was started")
			}
			if n := r.connected.Load(); n != 0 {
				t.Errorf("%d connections were made", n)
			}
			if r.known.Contains([]byte(planted)) != test.opened || strings.Contains(got.Error+r.log.String(), planted) {
				t.Error("the secret was opened, or is shown")
			}
		})
	}
}

// TestProgramsOfOutputs checks that a login program of outputs runs only where the owner lists
// it, and in a health check only where an apply could run it, too.
func TestProgramsOfOutputs(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		runs bool
	}{
		"allowed":           {"[cluster]\nexec = [\"kubelogin\"]", true},
		"not listed":        {"", false},
		"another is listed": {"[cluster]\nexec = [\"aws\"]", false},
		"no applies":        {"jobs = [\"health\"]\n[cluster]\nexec = [\"kubelogin\"]", false},
		"outside the window, no apply": {"[window]\nhours = \"03:00-03:01\"\nzone = \"UTC\"\n[cluster]\nexec = " +
			"[\"kubelogin\"]", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			part := r.part(map[string]any{
				"endpoint": r.server.URL, "certificate_authority_data": r.authority,
				"exec": map[string]any{"command": "kubelogin", "args": []any{"get-token"}},
			}, rule(t, "[cluster]\nexec = [\"kubelogin\"]"))
			got := r.run(part, rule(t, test.file))
			if r.ran() != test.runs || (r.connected.Load() > 0) != test.runs ||
				(got.Status == api.JobResultStatusSucceeded) != test.runs {
				t.Errorf("ran %v, %d connections: %+v", r.ran(), r.connected.Load(), got)
			}
		})
	}
}

// TestCloudLoginsOfHealth checks that a cloud's own program logs in only to the cluster
// that was applied to, identified by its address and the name that is passed to the program.
// For any other outputs of this install no program is started, so that no token of the runner's
// cloud identity is created.
func TestCloudLoginsOfHealth(t *testing.T) {
	eks := func(name, host string) map[string]any {
		return map[string]any{"name": name, "endpoint": "https://" + host}
	}
	gke := func(r *rig, endpoint string) map[string]any {
		return map[string]any{"name": "prod", "location": "europe-west1", "endpoint": endpoint, "ca_certificate": r.authority}
	}
	const amazon = "x.gr7.us-east-1.eks.amazonaws.com"
	for name, test := range map[string]struct {
		applied, told func(r *rig) map[string]any
		runs          bool
		want          string
	}{
		"GKE, as applied": {applied: func(r *rig) map[string]any { return gke(r, r.server.URL) },
			told: func(r *rig) map[string]any { return gke(r, r.server.URL) }, runs: true},
		"EKS, another name": {
			applied: func(*rig) map[string]any { return eks("prod", amazon) },
			told:    func(*rig) map[string]any { return eks("other", amazon) }, want: "last applied to",
		},
		"EKS, another address": {
			applied: func(*rig) map[string]any { return eks("prod", amazon) },
			told:    func(*rig) map[string]any { return eks("prod", "y.gr7.us-east-1.eks.amazonaws.com") },
			want:    "last applied to",
		},
		"EKS, another top-level domain": {
			applied: func(*rig) map[string]any { return eks("prod", amazon) },
			told:    func(*rig) map[string]any { return eks("prod", amazon+".evil") }, want: "nothing to log in with",
		},
		"GKE, another address": {
			applied: func(r *rig) map[string]any { return gke(r, "https://192.0.2.1") },
			told:    func(r *rig) map[string]any { return gke(r, r.server.URL) }, want: "last applied to",
		},
		"GKE, a host of another cloud": {
			applied: func(r *rig) map[string]any { return gke(r, r.server.URL) },
			told:    func(r *rig) map[string]any { return gke(r, "https://evil.example") },
			want:    "nothing to log in with",
		},
		"GKE, another authority": {
			applied: func(r *rig) map[string]any { return gke(r, r.server.URL) }, told: func(r *rig) map[string]any {
				other := gke(r, r.server.URL)
				other["ca_certificate"] = strings.Replace(r.authority, "MII", "MIJ", 1)
				return other
			}, want: "last applied to",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			open := policy.Default().RuleAt(fixed)
			part := r.part(test.applied(r), open)
			outputs := test.told(r)
			encoded, err := json.Marshal(outputs)
			if err != nil {
				t.Fatal(err)
			}
			// They have a keyed hash of this install: a later apply reported them, and nothing
			// was applied to that cluster.
			r.plain(&part, outputs)
			part.Deploy.Values.Proofs = []api.ValueProof{valuestest.Proof(r, r.key, install, "sandbox.outputs.cluster",
				string(encoded))}
			got := r.run(part, open)
			if r.ran() != test.runs || (r.connected.Load() > 0) != test.runs || !strings.Contains(got.Error, test.want) {
				t.Errorf("ran %v, %d connections: %+v", r.ran(), r.connected.Load(), got)
			}
			if test.runs && r.sent.Load() != "Bearer planted-by-program" {
				t.Errorf("sent %v", r.sent.Load())
			}
		})
	}
}
