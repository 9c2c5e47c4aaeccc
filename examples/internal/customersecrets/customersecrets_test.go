// Package customersecrets tests the way of a customer's secret from the runner's machine into a cluster, with the real
// programs.
package customersecrets

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// world is a fleet with one runner, whose secrets are in a namespace of a cluster.
type world struct {
	*fleettest.World
	kubeconfig       string
	stored, deployed string // namespaces
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{kubeconfig: clustertest.Kubeconfig(t)}
	cluster := clustertest.Open(t)
	w.stored, w.deployed = clustertest.Namespace(t, cluster), clustertest.Namespace(t, cluster)
	w.World = fleettest.Start(t, fleet.Options{Kubeconfig: w.kubeconfig})
	w.Must(os.WriteFile(filepath.Join(w.runnerDir(), "runner.toml"),
		[]byte("[secrets]\nstore = \"kubernetes\"\nnamespace = \""+w.stored+"\"\n"), 0o600))
	return w
}

func (w *world) runnerDir() string { return w.Fleet.Installers["customer"].Dir }

// app is an app with a chart that reads the password of a database in three ways: as the name of its copy, as the
// id of its version, and as a part of a URL.
func (w *world) app() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"metadata.toml": file("version = \"v2\"\ndisplay_name = \"Shop\"\n"),
		"runner.toml":   file("runner_type = \"aws\"\n"),
		"sandbox.toml": file("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
			"directory = \"modules/base\"\n"),
		"modules/base/main.tf": file("output \"text\" {\n  value = \"text\"\n}\n"),
		"secrets.toml": file("[[secret]]\nname = \"db_password\"\ndescription = \"Password of the database\"\n" +
			"required = true\nkubernetes_sync = true\nkubernetes_secret_namespace = \"" + w.deployed + "\"\n" +
			"kubernetes_secret_name = \"db\"\n\n" +
			"[[secret]]\nname = \"session_key\"\ndescription = \"Signs sessions\"\nauto_generate = true\n"),
		"components/web.toml": file("type = \"helm_chart\"\nname = \"web\"\nchart_name = \"web-page\"\n" +
			"namespace = \"" + w.deployed + "\"\n[public_repo]\nrepo = \".\"\ndirectory = \"charts/web\"\n[values]\n" +
			"secret = \"{{ .nuon.secrets.db_password.kubernetes_name }}\"\n" +
			"version = \"{{ .nuon.secrets.db_password.version }}\"\n" +
			"url = \"postgres://app:{{ .nuon.install.secrets.db_password }}@db\"\n"),
		"charts/web/Chart.yaml":  file("apiVersion: v2\nname: web\nversion: 1.0.0\n"),
		"charts/web/values.yaml": file("secret: \"\"\nversion: \"\"\nurl: \"\"\n"),
		"charts/web/templates/all.yaml": file("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n" +
			"  secret: {{ .Values.secret | quote }}\n  version: {{ .Values.version | quote }}\n---\n" +
			"apiVersion: v1\nkind: Secret\nmetadata:\n  name: url\nstringData:\n  url: {{ .Values.url | quote }}\n"),
	}
}

// runnerd runs a command of the customer, with standard input.
func (w *world) runnerd(input string, args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Ctx, filepath.Join(w.Fleet.Bin, "runnerd"),
		append(args, "--dir", w.runnerDir(), "--kubeconfig", w.kubeconfig)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("runnerd %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// install waits until the install is as wanted, and returns it.
func (w *world) install(what string, wanted func(api.Install) bool) (found api.Install) {
	w.Helper()
	w.Must(fleet.Until(w.Ctx, testtime.Limit, what, func() (bool, error) {
		found = api.Install{}
		err := w.Fleet.JSON(w.Ctx, &found, "installs", "get", "acme")
		return wanted(found), err
	}))
	return found
}

// current waits until the install is current. Until the runner has found the secret, it is stalled.
func (w *world) current() {
	w.Helper()
	w.install("acme is current", func(i api.Install) bool { return i.Status == "current" })
}

// reason returns why the component web is not current.
func reason(i api.Install) string {
	for _, c := range i.Components {
		if c.Name == "web" {
			return c.Reason
		}
	}
	return ""
}

// data returns a key of an object that was deployed.
func (w *world) data(kind, name, key string) string {
	w.Helper()
	object := clustertest.Get(w, clustertest.Open(w), api.ObjectRef{Version: "v1", Kind: kind, Namespace: w.deployed,
		Name: name})
	if object == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(object.Object, "data", key)
	if kind != "Secret" {
		return text
	}
	value, err := base64.StdEncoding.DecodeString(text)
	w.Must(err)
	return string(value)
}

// TestASecretOfTheCustomer follows a secret: the install waits for it, the customer sets it, a chart reads it, and
// when the customer changes it, the chart is behind and deployed again. The control plane never has the value.
func TestASecretOfTheCustomer(t *testing.T) {
	const first, second = "planted-first-58a1c9", "planted-second-77e0d2"
	w := newWorld(t)
	repository, err := w.Fleet.NewRepository(w.Ctx, "shop", w.app())
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", repository.URL)
	w.Nuon("sync", "--app", "shop", "--wait")
	w.Nuon("installs", "create", "acme", "--app", "shop", "--runner", "customer", "--approval", "approve-all")

	waiting := w.install("acme waits for the secret", func(i api.Install) bool {
		return strings.Contains(reason(i), "secret db_password is missing")
	})
	command := "runnerd secrets set db_password --install " + waiting.ID
	if !strings.Contains(reason(waiting), command) {
		t.Errorf("the reason does not contain %q: %s", command, reason(waiting))
	}
	if out := w.runnerd("", "secrets", "list"); !strings.Contains(out, "db_password") || !strings.Contains(out,
		"missing") {
		t.Errorf("runnerd secrets list prints\n%s", out)
	}

	if out := w.runnerd(first+"\n", "secrets", "set", "db_password"); strings.Contains(out, first) {
		t.Errorf("runnerd secrets set prints the value:\n%s", out)
	}
	w.Nuon("installs", "secrets", "check", "acme")
	w.current()
	if w.data("Secret", "db", "value") != first || w.data("Secret", "url", "url") != "postgres://app:"+first+"@db" {
		t.Error("the copy, or what the chart made of the secret, has another value")
	}
	log, err := os.ReadFile(filepath.Join(w.runnerDir(), "audit", "audit.log"))
	if err != nil || !strings.Contains(string(log), `"secret set"`) || !strings.Contains(string(log), `"secret read"`) ||
		strings.Contains(string(log), first) {
		t.Errorf("the owner's log is %s, %v", log, err)
	}
	version := w.data("ConfigMap", "web", "version")
	if w.data("ConfigMap", "web", "secret") != "db" || version == "" {
		t.Errorf("the chart has the version %q", version)
	}
	list := w.Nuon("installs", "secrets", "list", "acme")
	for _, word := range []string{"db_password", "present", version, "session_key", "generated", w.deployed + "/db"} {
		if !strings.Contains(list, word) {
			t.Errorf("nuon installs secrets list does not print %q:\n%s", word, list)
		}
	}

	w.Nuon("installs", "update", "acme", "--approval", "prompt")
	w.runnerd(second, "secrets", "set", "db_password")
	w.Nuon("installs", "secrets", "check", "acme")
	behind := w.install("acme is behind because of the secret", func(i api.Install) bool {
		return i.Status == "waiting_for_approval"
	})
	if !strings.Contains(reason(behind), "secret db_password changed") {
		t.Errorf("web is behind: %s", reason(behind))
	}
	review := w.Nuon("review", "acme/web")
	if !strings.Contains(review, version) {
		t.Errorf("the plan does not show the version:\n%s", review)
	}
	for _, id := range strings.Fields(w.Nuon("review", "--install", "acme", "-o", "name")) {
		w.Nuon("approve", id)
	}
	w.current()
	if w.data("Secret", "db", "value") != second || w.data("Secret", "url", "url") != "postgres://app:"+second+"@db" ||
		w.data("ConfigMap", "web", "version") == version {
		t.Error("after the change, the cluster has the old value")
	}
	w.notFound(first, second)
}

// notFound fails the test if a value is in the control plane's database, in a log or in an answer to the vendor.
func (w *world) notFound(values ...string) {
	w.Helper()
	dump := filepath.Join(w.TempDir(), "dump.sql")
	w.Must(w.Fleet.Database.Dump(w.Ctx, dump))
	files := []string{dump}
	w.Must(filepath.WalkDir(filepath.Join(w.Fleet.Dir, "logs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	texts := map[string]string{
		"nuon logs": w.Nuon("logs", "runner", "customer"), "nuon installs secrets list": w.Nuon("installs", "secrets",
			"list",
			"acme", "-o", "json"),
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		w.Must(err)
		texts[file] = string(content)
	}
	for _, value := range values {
		for where, text := range texts {
			if strings.Contains(text, value) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(value))) {
				w.Error(fmt.Sprintf("a value is in %s", where))
			}
		}
	}
}
