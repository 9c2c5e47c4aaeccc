// Package identity tests how a customer's stack leads to a registered runner with the real programs:
// the stack is rendered, its function runs, and runnerd registers by the identity of its machine in a
// simulated cloud.
package identity

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

const account = "123456789012"

// app is an app with a stack on AWS.
var app = fstest.MapFS{
	"metadata.toml": {Data: []byte("version = \"v2\"\ndisplay_name = \"Cloud\"\n")},
	"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
	"sandbox.toml": {Data: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
		"directory = \"modules/base\"\n[vars]\nvpc = \"{{.nuon.install_stack.outputs.vpc_id}}\"\n")},
	"stack.toml": {Data: []byte("type = \"aws-cloudformation\"\nname = \"cloud-{{.nuon.install.id}}\"\n" +
		"description = \"Lets the runner in\"\nvpc_nested_template_url = \"https://templates.example.com/vpc.yaml\"\n" +
		"runner_nested_template_url = \"https://templates.example.com/runner.yaml\"\n")},
	"modules/base/main.tf": {Data: []byte("variable \"vpc\" {}\noutput \"vpc\" {\n  value = var.vpc\n}\n")},
}

// template is what the test reads of the stack's template.
type template struct {
	Resources map[string]struct {
		Properties struct {
			RoleName    string
			Code        struct{ ZipFile string }
			Environment struct{ Variables map[string]string }
		}
	}
}

// world is a fleet beside a simulated cloud.
type world struct {
	*fleettest.World
	cloud *cloudtest.Cloud
	url   string // at which machines reach the runner API
}

// newWorld starts both. The address of the runner API is known before the control plane is.
func newWorld(t *testing.T) *world {
	t.Helper()
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	front, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{cloud: cloud, url: "http://" + front.Addr().String()}
	w.World = fleettest.Start(t, fleet.Options{Env: cloud.Environ(), Serve: []string{
		"--runner-url", w.url, "--runner-program", filepath.Join(bin, "runnerd")}})
	back := strings.TrimPrefix(w.Fleet.Ready(0).RunnerURL, "http://")
	go func() {
		for {
			in, err := front.Accept()
			if err != nil {
				return // the test has ended
			}
			go forward(in, back)
		}
	}()
	return w
}

// forward copies a connection to an address.
func forward(in net.Conn, address string) {
	out, err := net.Dial("tcp", address)
	if err != nil {
		_ = in.Close()
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // the other side sees the end
			_ = pair[0].Close()
		})
	}
	both.Wait()
}

// rendered renders the stack of an install.
func (w *world) rendered(install string) template {
	w.Helper()
	dir := w.TempDir()
	w.Nuon("installs", "stack", "render", install, "--output-dir", dir)
	raw, err := os.ReadFile(filepath.Join(dir, "template.json"))
	w.Must(err)
	var t template
	w.Must(json.Unmarshal(raw, &t))
	return t
}

// runFunction runs the function of a template in an account, and returns what it answers.
func (w *world) runFunction(t template, account, kind, request string, outputs map[string]any) string {
	w.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		w.Skip("needs python3 on PATH")
	}
	answer := make(chan string, 1)
	cloudFormation := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short one is no JSON
		answer <- string(body)
	}))
	defer cloudFormation.Close()
	event, err := json.Marshal(map[string]any{"RequestType": kind, "RequestId": request, "LogicalResourceId": "Report",
		"StackId":     "arn:aws:cloudformation:eu-central-1:" + account + ":stack/acme/0a1b2c3d-0000-0000-0000-000000000001",
		"ResponseURL": cloudFormation.URL, "ResourceProperties": map[string]any{"StackVersion": "1", "Outputs": outputs}})
	w.Must(err)
	dir := w.TempDir()
	w.Must(os.WriteFile(filepath.Join(dir, "index.py"), []byte(t.Resources["PhoneHome"].Properties.Code.ZipFile), 0o600))
	command := exec.CommandContext(w.Ctx, python, "-c",
		"import index, json, sys\nindex.handler(json.load(sys.stdin), None)")
	command.Dir, command.Stdin = dir, bytes.NewReader(event)
	role := w.cloud.AWS.AddRole(cloudtest.Role{Account: account, Name: t.Resources["PhoneHomeRole"].Properties.RoleName})
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AWS_REGION=eu-central-1"},
		w.cloud.AWS.NewSession(role, "phone-home", testtime.Limit).Environ()...)
	for name, value := range t.Resources["PhoneHome"].Properties.Environment.Variables {
		command.Env = append(command.Env, name+"="+value)
	}
	if said, err := command.CombinedOutput(); err != nil {
		w.Fatalf("%v\n%s", err, said)
	}
	return <-answer
}

// report runs the function for a stack that is created, and requires a status of its answer.
func (w *world) report(t template, account, request string, outputs map[string]any, status string) {
	w.Helper()
	if answer := w.runFunction(t, account, "Create", request, outputs); !strings.Contains(answer, `"`+status+`"`) {
		w.Fatalf("in account %s the function answers %s", account, answer)
	}
}

// machine starts runnerd as the stack's machine in an account, by the identity of its metadata service.
func (w *world) machine(t template, account, dir string) *exec.Cmd {
	w.Helper()
	role := w.cloud.AWS.AddRole(cloudtest.Role{Account: account, Name: t.Resources["RunnerRole"].Properties.RoleName})
	metadata, err := w.cloud.AWS.StartInstance(cloudtest.Instance{Role: role, ID: "i-0123456789abcdef0",
		Region: "eu-central-1"})
	w.Must(err)
	log, err := os.Create(filepath.Join(dir, "runnerd.log"))
	w.Must(err)
	w.Cleanup(func() { _ = log.Close() })
	variables := t.Resources["PhoneHome"].Properties.Environment.Variables
	command := exec.CommandContext(w.Ctx, filepath.Join(w.Fleet.Bin, "runnerd"), "run", "--url", variables["NUON_URL"],
		"--dir", filepath.Join(dir, "runner"), "--cloud", "aws")
	command.Stdout, command.Stderr = log, log
	command.Env = append(append(append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AWS_REGION=eu-central-1",
		"NUON_REGISTRY=127.0.0.1:1/acme", "NUON_REGISTRY_PLAIN_HTTP=1", "NUON_CLAIM=" + variables["NUON_CLAIM"]},
		w.cloud.Environ()...), metadata...), "USER=nobody")
	w.Must(command.Start())
	w.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		if raw, err := os.ReadFile(log.Name()); err == nil && w.Failed() {
			w.Logf("runnerd:\n%s", raw)
		}
	})
	return command
}

// runner returns a runner.
func (w *world) runner(name string) api.Runner {
	w.Helper()
	var r api.Runner
	w.Must(w.Fleet.JSON(w.Ctx, &r, "runners", "get", name))
	return r
}

// outputs returns the outputs of a stack, by name, and its last report.
func (w *world) outputs(install string) (map[string]string, *api.PhoneHomeState) {
	w.Helper()
	var s api.StackOutputs
	w.Must(w.Fleet.JSON(w.Ctx, &s, "installs", "stack", "get", install))
	all := map[string]string{"version of the stack": s.StackVersion}
	for _, o := range s.Outputs {
		all[o.Name] = string(o.Value)
	}
	return all, s.PhoneHome
}

// TestStackToRunner follows two installs from the rendered stack to a registered runner without a
// token: one whose account the vendor named, and one whose account the vendor confirms. The signed
// request of one registration is all that AWS gets from the control plane.
func TestStackToRunner(t *testing.T) {
	w := newWorld(t)
	vendor, err := w.Fleet.NewRepository(w.Ctx, "cloud", app)
	w.Must(err)
	w.Nuon("apps", "create", "cloud", "--repo", vendor.URL)
	w.Nuon("sync", "--app", "cloud")
	outputs := map[string]any{"account_id": account, "region": "eu-central-1", "vpc_id": "vpc-1",
		"public_subnets": "subnet-1,subnet-2"}
	for _, name := range []string{"named", "first"} {
		w.Nuon("runners", "create", name)
	}

	w.Nuon("installs", "create", "named", "--app", "cloud", "--runner", "named", "--account", "aws.account_id="+account)
	stack := w.rendered("named")
	w.report(stack, account, "11111111-0000-0000-0000-000000000001", outputs, "SUCCESS")
	got, last := w.outputs("named")
	if got["vpc_id"] != `"vpc-1"` || got["version of the stack"] != "1" || last == nil || last.Status != "accepted" {
		t.Errorf("outputs %v, last report %+v", got, last)
	}
	w.machine(stack, account, t.TempDir())
	w.untilRegistered("named")
	if r := w.runner("named"); r.Identity == nil || r.Identity.Account != account ||
		r.Identity.Machine != "i-0123456789abcdef0" {
		t.Errorf("the runner is %+v", r)
	}

	w.Nuon("installs", "create", "first", "--app", "cloud", "--runner", "first")
	stack = w.rendered("first")
	w.report(stack, account, "11111111-0000-0000-0000-000000000002", outputs, "SUCCESS")
	if _, last = w.outputs("first"); last == nil || last.Status != "waiting" {
		t.Errorf("the last report is %+v", last)
	}
	w.machine(stack, account, t.TempDir())
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the machine waits", func() (bool, error) {
		return len(w.runner("first").Claims) == 2, nil
	}))
	w.Nuon("runners", "confirm", "first", "--account", account, "--yes")
	w.untilRegistered("first")
	if got, last = w.outputs("first"); got["vpc_id"] != `"vpc-1"` || last.Status != "accepted" {
		t.Errorf("outputs %v, last report %+v", got, last)
	}
	w.report(stack, "999999999999", "11111111-0000-0000-0000-000000000003", outputs, "FAILED")
	w.runFunction(stack, account, "Delete", "11111111-0000-0000-0000-000000000004", outputs)
	if got, _ = w.outputs("first"); got["version of the stack"] != "deleted" {
		t.Errorf("after the deletion %v", got)
	}
}

// untilRegistered waits until a runner has registered by its identity and is online.
func (w *world) untilRegistered(name string) {
	w.Helper()
	w.Must(fleet.Until(w.Ctx, testtime.Limit, name+" is registered", func() (bool, error) {
		r := w.runner(name)
		return r.Registered && r.Online && r.RegisteredBy == api.RunnerRegisteredByIdentity, nil
	}))
}
