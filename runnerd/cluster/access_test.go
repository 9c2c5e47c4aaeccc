package cluster

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

const authority = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ29tcGxldGVseSBtYWRlIHVw\n-----END " +
	"CERTIFICATE-----\n"

// environment returns an Env and opened values with a cluster's outputs at
// .nuon.sandbox.outputs.cluster.
func environment(t *testing.T, outputs any) (*job.Env, *values.Values, *strings.Builder) {
	t.Helper()
	known := &redact.Set{}
	written := &strings.Builder{}
	env := &job.Env{Redact: known, Log: job.NewLog(written, known), Key: identityKey(t)}
	plain := map[string]any{"sandbox": map[string]any{"outputs": map[string]any{"cluster": outputs}}}
	if outputs == nil {
		plain = map[string]any{"sandbox": map[string]any{"outputs": map[string]any{"other": "x"}}}
	}
	encoded, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	given := api.Values{Plain: encoded}
	if outputs != nil {
		told, err := json.Marshal(outputs)
		if err != nil {
			t.Fatal(err)
		}
		given.Proofs = []api.ValueProof{valuestest.Proof(t, env.Key, "ins_1", "sandbox.outputs.cluster", string(told))}
	}
	opened, err := values.Open("ins_1", given, env.Key, known)
	if err != nil {
		t.Fatal(err)
	}
	return env, opened, written
}

func identityKey(t testing.TB) seal.Identity {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

var atSandbox = api.ClusterSpec{Context: "sandbox", Path: []string{"sandbox", "outputs", "cluster"}}

func kubeconfigOf(server, token string) string {
	return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + server +
		"'}}]\nusers: [{name: u, user: {token: " + token + "}}]\n" +
		"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
}

func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOrderOfAccess(t *testing.T) {
	t.Setenv(varServiceHost, "")
	env, opened, _ := environment(t, map[string]any{"endpoint": "outputs.example", "token": "planted-token"})
	env.KubeConfig = write(t, "kubeconfig", kubeconfigOf("https://file.example", "planted-file-token"), 0o600)
	t.Setenv("KUBECONFIG", "/must/not/be/read")
	c, err := Open(env, atSandbox, opened)
	if err != nil || c.Address() != "https://file.example" {
		t.Fatalf("the runner's own file comes first: %v %v", c, err)
	}
	if !env.Redact.Contains([]byte("planted-file-token")) {
		t.Error("the token of the file is not known as a secret")
	}
	other := api.ClusterSpec{Context: "edge", Path: atSandbox.Path}
	if c, err = Open(env, other, opened); err != nil || c.Address() != "https://outputs.example" {
		t.Errorf("another context has nothing to do with the runner's file: %v", err)
	}
	env.KubeConfig = ""
	if c, err = Open(env, atSandbox, opened); err != nil || c.Address() != "https://outputs.example" {
		t.Errorf("then the outputs: %v", err)
	}
	if !env.Redact.Contains([]byte("planted-token")) {
		t.Error("the token of the outputs is not known as a secret")
	}
	_, none, _ := environment(t, nil)
	_, err = Open(env, atSandbox, none)
	for _, want := range []string{"no kubeconfig", ".nuon.sandbox.outputs.cluster", "not in a cluster", "--kubeconfig"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing found: %v does not say %q", err, want)
		}
	}
	t.Setenv(varServiceHost, "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err = Open(env, atSandbox, none); err == nil || !strings.Contains(err.Error(), "service account") {
		t.Errorf("in a pod without a token: %v", err)
	}
	if _, err = Open(env, other, none); err == nil || !strings.Contains(err.Error(), "context edge") {
		t.Errorf("what is for another cluster must not get into the runner's: %v", err)
	}
}

func TestOutputsOfAClusterSay(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(authority))
	whole := kubeconfigOf("https://whole.example", "planted-whole")
	tests := map[string]struct {
		outputs map[string]any
		address string
		wrong   string
		secret  string
	}{
		"token": {outputs: map[string]any{"endpoint": "https://a.example:6443/", "certificate_authority_data": encoded,
			"token": "planted-t"}, address: "https://a.example:6443/", secret: "planted-t"},
		"Azure": {outputs: map[string]any{"host": "https://x.azmk8s.io:443", "cluster_ca_certificate": authority,
			"client_certificate": encoded, "client_key": "-----BEGIN RSA PRIVATE KEY-----\nplanted-key-of-azure\n-----END RSA " +
				"PRIVATE KEY-----"}, address: "https://x.azmk8s.io:443", secret: "planted-key-of-azure"},
		"kubeconfig": {outputs: map[string]any{"kubeconfig": whole}, address: "https://whole.example",
			secret: "planted-whole"},
		"kubeconfig, base64": {outputs: map[string]any{"kubeconfig": base64.StdEncoding.EncodeToString([]byte(whole))},
			address: "https://whole.example", secret: "planted-whole"},
		"insecure": {outputs: map[string]any{"endpoint": "a", "token": "t", "insecure_skip_tls_verify": true},
			wrong: "give certificate_authority_data instead"},
		"insecure file": {outputs: map[string]any{"kubeconfig": strings.Replace(whole, "cluster: {server",
			"cluster: {insecure-skip-tls-verify: true, server", 1)}, wrong: "give certificate_authority_data instead"},
		"files": {outputs: map[string]any{"kubeconfig": strings.Replace(whole, "token:",
			"tokenFile: /etc/shadow, token:", 1)}, wrong: "names files"},
		"no kubeconfig": {outputs: map[string]any{"kubeconfig": "planted: [secret"}, wrong: "no kubeconfig"},
		"plain http":    {outputs: map[string]any{"endpoint": "http://a.example", "token": "t"}, wrong: "https://"},
		"login in address": {outputs: map[string]any{"endpoint": "https://u:p@a.example", "token": "t"},
			wrong: "holds a login"},
		"no endpoint": {outputs: map[string]any{"name": "x", "arn": "y"}, wrong: "has no endpoint (it has arn, name)"},
		"no login": {outputs: map[string]any{"endpoint": "https://a.example", "name": "x"},
			wrong: "nothing to log in with"},
		"odd certificate": {outputs: map[string]any{"endpoint": "https://a.example", "certificate_authority_data": "%%",
			"token": "t"}, wrong: "neither PEM nor base64"},
		"odd exec": {outputs: map[string]any{"endpoint": "https://a.example",
			"exec": map[string]any{"args": []any{"x"}}}, wrong: "no command"},
		"EKS's neighbour": {outputs: map[string]any{"name": "prod",
			"endpoint": "https://x.gr7.us-east-1.eks.amazonaws.com.evil"}, wrong: "nothing to log in with"},
		"EKS's option": {outputs: map[string]any{"name": "--endpoint-url=https://evil",
			"endpoint": "https://x.gr7.us-east-1.eks.amazonaws.com"}, wrong: "nothing to log in with"},
		"EKS in China": {outputs: map[string]any{"name": "prod",
			"endpoint": "https://X.gr7.cn-north-1.eks.amazonaws.com.cn"}, wrong: "the program aws, which gives the credentials"},
		"Google elsewhere": {outputs: map[string]any{"name": "prod", "endpoint": "https://evil.example",
			"location": "europe-west1", "project": "p", "ca_certificate": authority}, wrong: "nothing to log in with"},
		"Google without CA": {outputs: map[string]any{"name": "prod", "endpoint": "https://1.2.3.4",
			"location": "europe-west1"}, wrong: "nothing to log in with"},
		"query": {outputs: map[string]any{"endpoint": "https://a.example/?x=y", "token": "t"},
			wrong: "holds a query"},
		"exec": {outputs: map[string]any{"endpoint": "https://a.example",
			"exec": map[string]any{"command": "/bin/sh", "args": []any{"-c", "id"}}},
			wrong: "its owner can add it to exec under [cluster]"},
		"exec of a file": {outputs: map[string]any{"kubeconfig": strings.Replace(whole, "token: planted-whole",
			"exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/sh}", 1)},
			wrong: "its owner can add it to exec under [cluster]"},
		"proxy of a file": {outputs: map[string]any{"kubeconfig": strings.Replace(whole, "cluster: {server",
			"cluster: {proxy-url: 'http://evil.example', server", 1)}, wrong: "proxy-url"},
		"acting as another": {outputs: map[string]any{"kubeconfig": strings.Replace(whole, "token:", "as: root, token:", 1)},
			wrong: "acts as somebody else"},
		"auth-provider": {outputs: map[string]any{"kubeconfig": strings.Replace(whole, "token: planted-whole",
			"auth-provider: {name: gcp, config: {cmd-path: /bin/sh}}", 1)}, wrong: "auth-provider"},
		"authority's file": {outputs: map[string]any{"kubeconfig": strings.Replace(whole, "cluster: {server",
			"cluster: {certificate-authority: /etc/shadow, server", 1)}, wrong: "names a file"},
		"no aws": {outputs: map[string]any{"name": "prod", "endpoint": "https://ABC.gr7.eu-west-1.eks.amazonaws.com"},
			wrong: "the program aws, which gives the credentials"},
		"no gcloud": {outputs: map[string]any{"name": "prod", "endpoint": "https://1.2.3.4", "location": "europe-west1",
			"ca_certificate": authority}, wrong: "gke-gcloud-auth-plugin"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(varServiceHost, "")
			t.Setenv("PATH", t.TempDir())
			env, opened, _ := environment(t, test.outputs)
			c, err := Open(env, atSandbox, opened)
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) || strings.Contains(err.Error(), "planted") {
					t.Errorf("got %v, want %q", err, test.wrong)
				}
				return
			}
			if err != nil || c.Address() != test.address {
				t.Fatalf("got %v, want %s", err, test.address)
			}
			if !env.Redact.Contains([]byte(test.secret)) {
				t.Error("the secret is not known")
			}
		})
	}
}

func TestIdentityIsAddressAndAuthority(t *testing.T) {
	t.Setenv(varServiceHost, "")
	identity := func(change map[string]any) string {
		outputs := map[string]any{"endpoint": "https://A.example", "certificate_authority_data": authority,
			"token": "one-token"}
		for key, value := range change {
			outputs[key] = value
		}
		env, opened, _ := environment(t, outputs)
		c, err := Open(env, atSandbox, opened)
		if err != nil {
			t.Fatal(err)
		}
		return c.Identity()
	}
	first := identity(nil)
	if !strings.HasPrefix(first, "sha256:") {
		t.Error(first)
	}
	for name, change := range map[string]map[string]any{"token": {"token": "other-token"},
		"spelling": {"endpoint": "https://a.example/"},
		"base64":   {"certificate_authority_data": base64.StdEncoding.EncodeToString([]byte(authority))}} {
		if identity(change) != first {
			t.Errorf("another %s makes another cluster", name)
		}
	}
	for name, change := range map[string]map[string]any{"login": {"token": "", "client_certificate_data": authority,
		"client_key_data": authority}, "address": {"endpoint": "https://b.example"},
		"authority": {"certificate_authority_data": strings.Replace(authority, "MII", "MIJ", 1)}} {
		if identity(change) == first {
			t.Errorf("another %s is the same cluster", name)
		}
	}
}

// credentialsBy serves an API that accepts the current token, and returns the cluster
// that logs in with a program.
func credentialsBy(t *testing.T, server *httptest.Server, script string) (*Cluster, *job.Env, error) {
	t.Helper()
	t.Setenv(varServiceHost, "")
	t.Setenv("NUON_PRIVATE", "planted-private")
	program := write(t, "login", "#!/bin/sh\n"+script, 0o700)
	var pem string
	if server != nil {
		pem = pemOf(server)
	}
	outputs := map[string]any{"endpoint": "https://127.0.0.1:1",
		"exec": map[string]any{"command": program, "args": []any{"a b"},
			"env": map[string]any{"ROLE_TOKEN": "planted-role"}}}
	if server != nil {
		outputs["endpoint"], outputs["certificate_authority_data"] = server.URL, pem
	}
	env, opened, _ := environment(t, outputs)
	env.Policy.ClusterExec = []string{program}
	c, err := Open(env, atSandbox, opened)
	return c, env, err
}

func TestLoginProgram(t *testing.T) {
	var seen []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer planted-2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.3"}`))
	}))
	defer server.Close()
	count := filepath.Join(t.TempDir(), "count")
	c, env, err := credentialsBy(t, server, `
echo x >>`+count+`
[ "$1" = "a b" ] && [ "$ROLE_TOKEN" = planted-role ] && [ -z "$NUON_PRIVATE" ] || { echo bad environment >&2; exit 3; }
echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"planted-$(wc -l <`+count+` | tr -d ' ')\"}}"
`)
	if err != nil {
		t.Fatal(err)
	}
	getter := c.RESTClientGetter("x")
	client, err := getter.ToDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	version, err := client.ServerVersion()
	if err != nil || version.GitVersion != "v1.36.3" {
		t.Fatalf("%v %v", version, err)
	}
	if strings.Join(seen, " ") != "Bearer planted-1 Bearer planted-2" {
		t.Errorf("sent %v", seen)
	}
	for _, secret := range []string{"planted-1", "planted-2", "planted-role"} {
		if !env.Redact.Contains([]byte(secret)) {
			t.Errorf("%s is not known as a secret", secret)
		}
	}
}

func TestLoginProgramFails(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"fails": {"echo no permission for $ROLE_TOKEN >&2; exit 4", "exit status 4: no permission for"},
		"says things": {"echo planted-thing; printf 'warn\\033[2J' >&2",
			`printed no ExecCredential with a status: warn\x1b[2J`},
		"too much": {"exec yes", "it printed more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := credentialsBy(t, nil, test.script)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "planted") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestNoLoginFollowsARedirect checks that a server that answers with a redirect,
// or an added API behind it that does, cannot make the runner send its login elsewhere:
// neither a token of the outputs nor one that a cloud's program returned.
func TestNoLoginFollowsARedirect(t *testing.T) {
	var stolen []string
	thief := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		stolen = append(stolen, r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	// It has the same certificate authority as the thief.
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	ask := func(c *Cluster) {
		t.Helper()
		client, err := c.RESTClientGetter("x").ToDiscoveryClient()
		if err != nil {
			t.Fatal(err)
		}
		if _, err = client.ServerVersion(); err == nil ||
			!strings.Contains(err.Error(), "with a redirect to "+strings.TrimPrefix(thief.URL, "https://")) {
			t.Errorf("asked, it answered %v", err)
		}
		for _, path := range []string{"/api/v1/pods?watch=true", "/api/v1/pods"} {
			if _, err := client.RESTClient().Get().RequestURI(path).DoRaw(t.Context()); err == nil {
				t.Errorf("%s was answered", path)
			}
		}
	}
	token := `echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"planted-of-cloud"}}'`
	byProgram, _, err := credentialsBy(t, server, token)
	if err != nil {
		t.Fatal(err)
	}
	ask(byProgram)
	env, opened, _ := environment(t,
		map[string]any{"endpoint": server.URL, "certificate_authority_data": pemOf(server), "token": "planted-t"})
	byToken, err := Open(env, atSandbox, opened)
	if err != nil {
		t.Fatal(err)
	}
	ask(byToken)
	if len(stolen) > 0 {
		t.Errorf("the other server was sent %q", stolen)
	}
}
