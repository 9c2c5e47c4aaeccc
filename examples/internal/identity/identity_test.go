// Package identity tests how a customer's stack leads to a registered runner with the real programs:
// the stack is rendered, its function runs, and runnerd registers by the identity of its machine in a
// simulated cloud.
package identity

import (
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/examples/internal/account"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// customer is the account of the customer.
const customer = "123456789012"

// app is an app with a stack on AWS.
var app = fstest.MapFS{
	"metadata.toml": {Data: []byte("version = \"v2\"\ndisplay_name = \"Cloud\"\n")},
	"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
	"sandbox.toml": {Data: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
		"directory = \"modules/base\"\n[vars]\nvpc = \"{{.nuon.install_stack.outputs.vpc_id}}\"\n")},
	"stack.toml": {Data: []byte("type = \"aws-cloudformation\"\nname = \"cloud-{{.nuon.install.id}}\"\n" +
		"description = \"Lets the runner in\"\nvpc_nested_template_url = \"https://templates.example.com/vpc.yaml\"\n" +
		"runner_nested_template_url = \"https://templates.example.com/runner.yaml\"\n")},
	"permissions/provision.toml":   {Data: []byte(role("provision"))},
	"permissions/maintenance.toml": {Data: []byte(role("maintenance"))},
	"permissions/deprovision.toml": {Data: []byte(role("deprovision"))},
	"break_glass.toml": {Data: []byte("[[role]]\nname = \"{{.nuon.install.id}}-repair\"\ndescription = \"Repairs\"\n" +
		"[[role.policies]]\nmanaged_policy_name = \"ReadOnlyAccess\"\n")},
	"actions/repair.toml": {Data: []byte("name = \"repair\"\nbreak_glass_role = \"{{.nuon.install.id}}-repair\"\n" +
		"[[triggers]]\ntype = \"manual\"\n[[steps]]\nname = \"repair\"\n" +
		"inline_contents = \"#!/bin/sh\\ntest -n \\\"$AWS_CONTAINER_AUTHORIZATION_TOKEN\\\"\"\n")},
	"modules/base/main.tf": {Data: []byte("variable \"vpc\" {}\noutput \"vpc\" {\n  value = var.vpc\n}\n")},
}

// role returns a standing role.
func role(kind string) string {
	return "type = \"" + kind + "\"\nname = \"{{.nuon.install.id}}-" + kind + "\"\ndescription = \"" + kind + "\"\n" +
		"[[policies]]\nmanaged_policy_name = \"ReadOnlyAccess\"\n"
}

// world is a fleet beside a simulated cloud.
type world struct {
	*fleettest.World
	cloud *cloudtest.Cloud
	url   string // at which machines reach the runner API

	bucket *cloudtest.Bucket // of the vendor, for templates

	registrations atomic.Int32 // that succeeded; the response to the first is lost
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
	w.bucket = cloud.AWS.AddBucket("stacks", "eu-central-1")
	vendor := cloud.AWS.AddRole(cloudtest.Role{Account: "111122223333", Name: "control-plane"})
	w.World = fleettest.Start(t, fleet.Options{
		Env: append(cloud.Environ(), cloud.AWS.NewSession(vendor, "reconciler", testtime.Limit).Environ()...),
		Serve: []string{"--runner-url", w.url, "--runner-program", filepath.Join(bin, "runnerd"),
			"--stack-bucket", w.bucket.URL() + "/nuon", "--azure-audience", "api://nuon.example.com"}})
	back, err := url.Parse(w.Fleet.Ready(0).RunnerURL)
	w.Must(err)
	server := &http.Server{Handler: w.front(back), ReadHeaderTimeout: testtime.Limit}
	go func() { _ = server.Serve(front) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return w
}

// front forwards requests to the runner API. The first response to a machine that registers is lost.
func (w *world) front(api *url.URL) http.Handler {
	errLost := errors.New("lost")
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(api)
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1, // polls send single bytes
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path == "/runner/v1/claim/register" && r.StatusCode == http.StatusOK &&
				w.registrations.Add(1) == 1 {
				return errLost
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// rendered renders the stack of an install.
func (w *world) rendered(install string) []byte {
	w.Helper()
	dir := w.TempDir()
	w.Nuon("installs", "stack", "render", install, "--output-dir", dir)
	raw, err := os.ReadFile(filepath.Join(dir, "template.json"))
	w.Must(err)
	return raw
}

// entered are the parameters that a customer enters.
func entered() map[string]string { return map[string]string{"Registry": "127.0.0.1:1/acme"} }

// create creates the stack of an install in an account, and requires a status of what its function answers.
func (w *world) create(template []byte, id, name, status string) *account.Stack {
	w.Helper()
	in := &account.Account{Cloud: w.cloud, ID: id, Region: "eu-central-1"}
	s, answer, err := in.Create(w.Ctx, name, template, entered())
	w.Must(err)
	if answer.Status != status {
		w.Fatalf("in account %s the function answers %+v", id, answer)
	}
	return s
}

// start starts the machine of a stack with more variables, and returns its disk.
func (w *world) start(s *account.Stack, environ ...string) (dir string) {
	w.Helper()
	dir = w.TempDir()
	w.startIn(dir, s, environ...)
	return dir
}

// startIn starts the machine of a stack with the disk of its runner in a directory.
func (w *world) startIn(dir string, s *account.Stack, environ ...string) {
	w.Helper()
	command, err := s.Machine(w.Ctx, filepath.Join(w.Fleet.Bin, "runnerd"), dir)
	w.Must(err)
	command.Env = append(command.Env, environ...)
	w.run(command)
}

// run starts the program of a machine, which ends with the test.
func (w *world) run(command *exec.Cmd) {
	w.Helper()
	log, err := os.Create(filepath.Join(w.TempDir(), "runnerd.log"))
	w.Must(err)
	w.Cleanup(func() { _ = log.Close() })
	command.Stdout, command.Stderr = log, log
	w.Must(command.Start())
	w.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		if raw, err := os.ReadFile(log.Name()); err == nil && w.Failed() {
			w.Logf("runnerd:\n%s", raw)
		}
	})
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

// TestStackToRunner follows two installs from the published template to a registered runner without a token: one whose
// account the vendor named, and one whose account the vendor confirms.
func TestStackToRunner(t *testing.T) {
	w := newWorld(t)
	vendor, err := w.Fleet.NewRepository(w.Ctx, "cloud", app)
	w.Must(err)
	w.Nuon("apps", "create", "cloud", "--repo", vendor.URL)
	w.Nuon("sync", "--app", "cloud")
	for _, name := range []string{"named", "first"} {
		w.Nuon("runners", "create", name)
	}

	w.Nuon("installs", "create", "named", "--app", "cloud", "--runner", "named", "--account", "aws.account_id="+customer,
		"--account", "aws.region=eu-central-1")
	template := w.linked("named")
	stack := w.create(template, customer, "named", "SUCCESS")
	got, last := w.outputs("named")
	if !strings.HasPrefix(got["vpc_id"], `"vpc-`) || got["version of the stack"] != "1" || last == nil ||
		last.Status != "accepted" {
		t.Errorf("outputs %v, last report %+v", got, last)
	}
	named := w.start(stack)
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the machine whose first registration got no response registers again",
		func() (bool, error) { return w.registrations.Load() > 1, nil }))
	w.untilRegistered("named")
	if n := w.registrations.Load(); n != 2 {
		t.Errorf("the machine whose first registration got no response has registered %d times, want twice", n)
	}
	if r := w.runner("named"); r.Identity == nil || r.Identity.Account != customer ||
		r.Identity.Machine != "i-0123456789abcdef0" {
		t.Errorf("the runner is %+v", r)
	}
	w.breakGlass("named", named, stack, template)

	w.Nuon("installs", "create", "first", "--app", "cloud", "--runner", "first")
	template = w.rendered("first")
	stack = w.create(template, customer, "first", "SUCCESS")
	if _, last = w.outputs("first"); last == nil || last.Status != "waiting" {
		t.Errorf("the last report is %+v", last)
	}
	w.start(stack)
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the machine waits", func() (bool, error) {
		return len(w.runner("first").Claims) == 2, nil
	}))
	w.Nuon("runners", "confirm", "first", "--account", customer, "--yes")
	w.untilRegistered("first")
	if got, last = w.outputs("first"); !strings.HasPrefix(got["vpc_id"], `"vpc-`) || last.Status != "accepted" {
		t.Errorf("outputs %v, last report %+v", got, last)
	}
	w.create(template, "999999999999", "first", "FAILED") // another account
	w.create(template, customer, "second", "FAILED")      // a second stack for the install, while the first one is there
	_, err = stack.Delete(w.Ctx)
	w.Must(err)
	if got, _ = w.outputs("first"); got["version of the stack"] != "deleted" {
		t.Errorf("after the deletion %v", got)
	}
	if got := w.Nuon("installs", "get", "first"); !strings.Contains(got, "deleted by the customer") {
		t.Errorf("the install does not say that its stack is gone:\n%s", got)
	}
	w.create(template, customer, "second", "SUCCESS")
}

// linked returns the template that the link to the console of an install names. It requires that the rules of the
// template refuse any other account and region before anything is created.
func (w *world) linked(install string) []byte {
	w.Helper()
	at, err := url.Parse(strings.TrimSpace(w.Nuon("installs", "stack", "link", install)))
	w.Must(err)
	_, query, _ := strings.Cut(at.Fragment, "?")
	values, err := url.ParseQuery(query)
	w.Must(err)
	template := w.bucket.Objects()[strings.TrimPrefix(values.Get("templateUrl"), w.bucket.URL()+"/")]
	if at.Host != "eu-central-1.console.aws.amazon.com" || template == "" || values.Get("stackName") == "" {
		w.Fatalf("the link is %s", at)
	}
	for _, wrong := range []*account.Account{{ID: "999999999999", Region: "eu-central-1"},
		{ID: customer, Region: "us-east-1"}} {
		wrong.Cloud = w.cloud
		if _, _, err := wrong.Create(w.Ctx, "wrong", []byte(template), entered()); err == nil ||
			!strings.Contains(err.Error(), "This stack is for the") {
			w.Errorf("in account %s and region %s: %v", wrong.ID, wrong.Region, err)
		}
	}
	return []byte(template)
}

// untilRegistered waits until a runner has registered by its identity and is online.
func (w *world) untilRegistered(name string) {
	w.Helper()
	w.Must(fleet.Until(w.Ctx, testtime.Limit, name+" is registered", func() (bool, error) {
		r := w.runner(name)
		return r.Registered && r.Online && r.RegisteredBy == api.RunnerRegisteredByIdentity, nil
	}))
}
