package secretsync_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/kubernetes"
	"github.com/nuon-toolkit/nuon/runnerd/secretsync"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

// rig is a runner whose secrets are in one namespace of a real cluster, and the copies in another.
type rig struct {
	*testing.T
	install        string // other tests have other installs in the same cluster
	cluster        *cluster.Cluster
	store          *kubernetes.Store
	stored, copies string
	key            seal.Identity
	root           string
	log            bytes.Buffer
	installs       []string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, install: clustertest.Name("ins"), cluster: clustertest.Open(t), root: t.TempDir()}
	r.stored, r.copies = clustertest.Namespace(t, r.cluster), clustertest.Namespace(t, r.cluster)
	var err error
	if r.store, err = kubernetes.Open(r.cluster.RESTConfig(), r.stored); err != nil {
		t.Fatal(err)
	}
	if r.key, err = seal.NewIdentity(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) set(name, value string) {
	r.Helper()
	err := r.store.Set(r.Context(), secretstore.Name{Install: r.install, Secret: name}, seal.NewSecret([]byte(value)))
	if err != nil {
		r.Fatal(err)
	}
}

// runSpec runs a job and returns the statuses by name. No value of a secret may be in the result or the log.
func (r *rig) runSpec(spec api.SecretsSpec) (map[string]api.SecretStatus, error) {
	r.Helper()
	known := &redact.Set{}
	env := &job.Env{
		Spec: api.JobSpec{Kind: api.JobSpecKindSecrets, Secrets: spec}, Root: r.root, Redact: known, Key: r.key,
		Log: job.NewLog(&r.log, known), KubeConfig: clustertest.Kubeconfig(r),
		Policy: policy.Rule{Secrets: policy.Secrets{Store: policy.StoreKubernetes, Namespace: r.stored,
			Installs: r.installs}},
	}
	result, err := secretsync.Handler{}.Run(r.Context(), env)
	statuses := map[string]api.SecretStatus{}
	for _, s := range result.Secrets.Secrets {
		statuses[s.Name] = s
	}
	text, _ := json.Marshal(result)
	if strings.Contains(string(text)+r.log.String(), "planted") {
		r.Errorf("a value is in the result or the log:\n%s\n%s", text, r.log.String())
	}
	return statuses, err
}

func (r *rig) run(secrets ...api.SecretSpec) map[string]api.SecretStatus {
	r.Helper()
	statuses, err := r.runSpec(api.SecretsSpec{Install: "acme", InstallID: r.install, Secrets: secrets,
		Cluster: api.ClusterSpec{Context: "sandbox", Path: []string{"sandbox", "outputs", "cluster"}},
		Values:  api.Values{Plain: json.RawMessage(`{"install":{"id":"ins_1"}}`)}})
	if err != nil {
		r.Fatal(err)
	}
	return statuses
}

// copied is a secret that is copied to key password of the Secret mail.
func (r *rig) copied(name string) api.SecretSpec {
	return api.SecretSpec{Name: name, Copies: []api.SecretCopy{{Namespace: r.copies, Name: "mail", Key: "password"}}}
}

func (r *rig) secret(name string) *unstructured.Unstructured {
	r.Helper()
	return clustertest.Get(r, r.cluster, api.ObjectRef{Version: "v1", Kind: "Secret", Namespace: r.copies, Name: name})
}

// value returns the value of a key of a copy; "" if it does not exist.
func (r *rig) value(name, key string) string {
	r.Helper()
	object := r.secret(name)
	if object == nil {
		return ""
	}
	encoded, _, _ := unstructured.NestedString(object.Object, "data", key)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		r.Fatal(err)
	}
	return string(value)
}

func TestCopyFollowsTheVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	status := r.run(r.copied("db"))["db"]
	if status.State != api.SecretStatusStateMissing || status.Copied || r.secret("mail") != nil {
		t.Fatalf("before it is set: %+v", status)
	}
	r.set("db", "planted-1")
	status = r.run(r.copied("db"))["db"]
	if status.State != api.SecretStatusStatePresent || !status.Copied || r.value("mail", "password") != "planted-1" {
		t.Fatalf("after it is set: %+v", status)
	}
	before := r.secret("mail").GetResourceVersion()
	if again := r.run(r.copied("db"))["db"]; again.Version != status.Version ||
		r.secret("mail").GetResourceVersion() != before {
		t.Errorf("it was copied again although nothing changed")
	}
	r.set("db", "planted-2")
	if again := r.run(r.copied("db"))["db"]; again.Version == status.Version || r.value("mail",
		"password") != "planted-2" {
		t.Errorf("after it changed: %+v", again)
	}
	events, err := audit.Read(r.root, time.Time{})
	if err != nil || len(events) != 2 || events[0].What != audit.SecretRead || events[0].Secret != "db" {
		t.Errorf("the owner's log of two copies has %+v, %v", events, err)
	}
	r.run()
	if r.secret("mail") != nil {
		t.Error("a copy that is no longer declared is still there")
	}
}

// TestSecretsOfOneDestination checks that several secrets can go to one Secret, and that one that went missing
// leaves its key there.
func TestSecretsOfOneDestination(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	user := api.SecretSpec{Name: "user", Base64: true,
		Copies: []api.SecretCopy{{Namespace: r.copies, Name: "mail", Key: "user"}}}
	r.set("db", "planted-1")
	r.set("user", base64.StdEncoding.EncodeToString([]byte("planted-user")))
	r.run(r.copied("db"), user)
	if got := r.value("mail", "password") + " " + r.value("mail", "user"); got != "planted-1 planted-user" {
		t.Fatal("the copy has other values")
	}
	if err := r.store.Delete(t.Context(), secretstore.Name{Install: r.install, Secret: "user"}); err != nil {
		t.Fatal(err)
	}
	r.set("db", "planted-2")
	statuses := r.run(r.copied("db"), user)
	if statuses["user"].State != api.SecretStatusStateMissing || r.value("mail", "user") != "planted-user" ||
		r.value("mail", "password") != "planted-2" {
		t.Errorf("%+v", statuses)
	}
}

func TestGeneratedSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.copies = clustertest.Name("new") // a namespace that does not exist
	t.Cleanup(func() {
		clustertest.Delete(t, r.cluster, api.ObjectRef{Version: "v1", Kind: "Namespace", Name: r.copies})
	})
	secret := r.copied("session")
	secret.Generate = true
	first := r.run(secret)["session"]
	value := r.value("mail", "password")
	if first.State != api.SecretStatusStatePresent || len(value) != 63 {
		t.Fatalf("%+v, %d characters", first, len(value))
	}
	if again := r.run(secret)["session"]; again.Version != first.Version || r.value("mail", "password") != value {
		t.Error("it was generated again")
	}
}

// TestForeignCopy checks that a Secret that nuon did not make for the install is neither written nor deleted.
func TestForeignCopy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clustertest.Create(t, r.cluster, r.copies, "apiVersion: v1\nkind: Secret\nmetadata: {name: mail}\n"+
		"stringData: {password: theirs}\n")
	r.set("db", "planted-1")
	status := r.run(r.copied("db"))["db"]
	if status.Copied || !strings.Contains(status.Problem, "nuon did not make it") {
		t.Errorf("%+v", status)
	}
	r.run()
	if got := r.value("mail", "password"); got != "theirs" {
		t.Errorf("the Secret has %q", got)
	}
}

// TestCopiesOfAnUnlistedInstallStay checks that a job cannot have copies deleted of an install whose secrets the owner
// does not let the runner read. Such a job needs no secret.
func TestCopiesOfAnUnlistedInstallStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set("db", "planted-1")
	if status := r.run(r.copied("db"))["db"]; !status.Copied {
		t.Fatalf("%+v", status)
	}
	for _, r.installs = range [][]string{{}, {"ins_other"}} {
		r.run()
		if got := r.value("mail", "password"); got != "planted-1" {
			t.Errorf("%q are listed, and the copy has %q", r.installs, got)
		}
	}
	r.installs = []string{r.install}
	r.run()
	if got := r.secret("mail"); got != nil {
		t.Errorf("what is no longer declared is there: %v", got)
	}
}

// TestHostileControlPlane checks specs that ask for what is not theirs.
func TestHostileControlPlane(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set("db", "planted-1")
	forged := "arn:aws:secretsmanager:eu-central-1:123456789012:secret:root-AbCdEf"
	plain, _ := json.Marshal(map[string]any{"install": map[string]any{"id": "x"}, "components": map[string]any{
		"db": map[string]any{"outputs": map[string]any{"arn": forged}}}})
	for name, c := range map[string]struct {
		install string
		secret  api.SecretSpec
		want    string
	}{
		"a path":            {r.install, api.SecretSpec{Name: "../ins_2/db"}, "no name of a secret"},
		"an install's path": {"ins_1/../ins_2", api.SecretSpec{Name: "db"}, "no id of an install"},
		"another install":   {"ins_2", api.SecretSpec{Name: "db"}, "does not list install ins_2"},
		"a literal address": {r.install, api.SecretSpec{Name: "db", Address: forged},
			"not the output of a component alone"},
		"an unproven address": {r.install, api.SecretSpec{Name: "db", Address: "{{ .nuon.components.db.outputs.arn }}"},
			"no runner"},
		"a system namespace": {r.install, copiedTo("kube-system", "a", "k"), "namespace of Kubernetes itself"},
		"a namespace's name": {r.install, copiedTo("a/b", "a", "k"), "no name of a namespace"},
		"a Secret's name":    {r.install, copiedTo(r.copies, "../a", "k"), "no name of a Secret"},
		"a key":              {r.install, copiedTo(r.copies, "a", "../k"), "no key of a Secret"},
		"a secret in a name": {r.install, copiedTo(r.copies, "{{ .nuon.install.secrets.db }}", "k"), "reads a secret"},
		"secrets in a name": {r.install, copiedTo(r.copies, "{{ index .nuon \"install\" \"secrets\" \"db\" }}", "k"),
			"reads a secret"},
		"an input in a key": {r.install, copiedTo(r.copies, "a", "{{ printf \"%x\" .nuon.inputs.inputs.password }}"),
			"reads a sensitive value"},
		"an input in a namespace": {r.install, copiedTo("{{ .nuon.inputs.inputs.password }}", "a", "k"),
			"reads a sensitive value"},
		"a broken address": {r.install, api.SecretSpec{Name: "db", Address: "{{ .nuon."}, ""},
	} {
		var sealed []api.SealedValue
		if c.install == r.install {
			sealed = append(sealed, valuestest.SealValue(t, r.key, r.install, "inputs.inputs.password", "planted-2"))
		}
		r.installs = []string{r.install, "ins_1/../ins_2"}
		statuses, err := r.runSpec(api.SecretsSpec{Install: "acme\x1b[2J", InstallID: c.install,
			Secrets: []api.SecretSpec{c.secret}, Values: api.Values{Plain: plain, Sealed: sealed}})
		status := statuses[c.secret.Name]
		if err != nil || status.State == api.SecretStatusStatePresent || !strings.Contains(status.Problem, c.want) {
			t.Errorf("%s: %+v %v", name, status, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(r.root, "*")); len(found) > 1 {
		t.Errorf("the runner's directory has %q", found)
	}
	if content, err := os.ReadFile(filepath.Join(r.root, "secrets", r.install+".json")); err != nil ||
		bytes.Contains(content, []byte("\x1b")) {
		t.Errorf("%q %v", content, err)
	}
}

func copiedTo(namespace, name, key string) api.SecretSpec {
	return api.SecretSpec{Name: "db", Copies: []api.SecretCopy{{Namespace: namespace, Name: name, Key: key}}}
}

// TestAddressOfAnOutput checks that an output that a runner of the install reported leads to its secret. The store
// here has no addresses, and says so.
func TestAddressOfAnOutput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const arn = `"arn:aws:secretsmanager:eu-central-1:123456789012:secret:db-AbCdEf"`
	plain := `{"components":{"db":{"outputs":{"arn":` + arn + `}}}}`
	statuses, err := r.runSpec(api.SecretsSpec{Install: "acme", InstallID: r.install, Secrets: []api.SecretSpec{
		{Name: "db", Address: "{{ .nuon.components.db.outputs.arn }}"}},
		Values: api.Values{Plain: json.RawMessage(plain),
			Proofs: []api.ValueProof{valuestest.Proof(t, r.key, r.install, "components.db.outputs.arn", arn)}}})
	if err != nil || !strings.Contains(statuses["db"].Problem, "no address of a secret in Kubernetes") {
		t.Errorf("%+v %v", statuses, err)
	}
}

func TestRequestedSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(r.copied("db"), api.SecretSpec{Name: "api_key"})
	found, err := secretsync.LoadRequested(r.root)
	if err != nil || len(found) != 2 || found[0].Name != "api_key" || found[1].Install != r.install ||
		found[0].InstallName != "acme" {
		t.Errorf("%+v %v", found, err)
	}
}
