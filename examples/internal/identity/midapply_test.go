package identity

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/account"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
)

// gated returns the app with a sandbox of two parts. Each part asks for the credentials of its job, as a provider does
// before it calls the cloud, and appends a line to a log in a directory. The second part waits until a file named "go"
// is there.
func gated(dir string) fstest.MapFS {
	made := maps.Clone(app)
	made["inputs.toml"] = &fstest.MapFile{Data: []byte("[[group]]\nname = \"base\"\ndescription = \"Base\"\n" +
		"[[input]]\nname = \"generation\"\ndisplay_name = \"Generation\"\ndescription = \"Makes both parts again\"\n" +
		"group = \"base\"\ndefault = \"1\"\n")}
	made["sandbox.toml"] = &fstest.MapFile{Data: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
		"directory = \"modules/base\"\n[vars]\ngeneration = \"{{.nuon.inputs.inputs.generation}}\"\n")}
	made["modules/base/main.tf"] = &fstest.MapFile{Data: []byte(`variable "generation" {}

resource "terraform_data" "first" {
  triggers_replace = var.generation
  provisioner "local-exec" {
    command = "python3 ${abspath(path.module)}/act.py first"
  }
}

resource "terraform_data" "second" {
  triggers_replace = var.generation
  depends_on       = [terraform_data.first]
  provisioner "local-exec" {
    command = "python3 ${abspath(path.module)}/act.py second"
  }
}
`)}
	made["modules/base/act.py"] = &fstest.MapFile{Data: []byte(`import os, sys, time, urllib.error, urllib.request
part, where = sys.argv[1], "` + dir + `"
while part == "second" and not os.path.exists(where + "/go"):
    open(where + "/waits", "w").close()
    time.sleep(0.05)
request = urllib.request.Request(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
    headers={"Authorization": os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"]})
try:
    urllib.request.urlopen(request).read()
except urllib.error.HTTPError as refused:
    sys.exit(part + " gets no credentials: " + refused.read().decode())
with open(where + "/log", "a") as log:
    log.write(part + "\n")
`)}
	return made
}

// gate is the directory of the app that gated returns.
type gate struct {
	*world
	dir string
}

func (g gate) has(name string) bool {
	_, err := os.Stat(filepath.Join(g.dir, name))
	return err == nil
}

// untilWaits waits until the second part of the sandbox waits in its apply.
func (g gate) untilWaits() {
	g.Helper()
	testtime.Until(g.T, "the second part waits", func() bool { return g.has("waits") })
}

// open makes the second part continue.
func (g gate) open() {
	g.Helper()
	g.Must(os.WriteFile(filepath.Join(g.dir, "go"), nil, 0o600))
}

// shut makes the second part of the next apply wait.
func (g gate) shut() {
	g.Helper()
	for _, name := range []string{"go", "waits"} {
		if err := os.Remove(filepath.Join(g.dir, name)); err != nil && !os.IsNotExist(err) {
			g.Fatal(err)
		}
	}
}

// log returns which parts ran so far.
func (g gate) log() string {
	g.Helper()
	raw, err := os.ReadFile(filepath.Join(g.dir, "log"))
	g.Must(err)
	return strings.Join(strings.Fields(string(raw)), " ")
}

// approve waits for the plan of the sandbox and approves it.
func (g gate) approve() {
	g.Helper()
	g.Must(fleet.Until(g.Ctx, testtime.Limit, "the sandbox is planned", func() (bool, error) {
		var all []api.Approval
		err := g.Fleet.JSON(g.Ctx, &all, "approvals", "list")
		if err != nil || len(all) == 0 {
			return false, err
		}
		_, err = g.Fleet.Nuon(g.Ctx, "approve", all[0].ID)
		return err == nil, err
	}))
}

// until waits until a workflow of the install, or the install itself, shows a text.
func (g gate) until(text string) {
	g.Helper()
	shown := ""
	err := fleet.Until(g.Ctx, testtime.Limit, "the install shows "+text, func() (bool, error) {
		var all []api.Workflow
		if err := g.Fleet.JSON(g.Ctx, &all, "workflows", "list", "--install", "acme"); err != nil {
			return false, err
		}
		shown = g.Nuon("installs", "get", "acme")
		for _, w := range all {
			shown += g.Nuon("workflows", "get", w.ID)
		}
		return strings.Contains(shown, text), nil
	})
	if err != nil {
		g.Fatalf("%v; it shows\n%s", err, shown)
	}
}

// update updates the stack with the role of the sandbox on or off.
func (g gate) update(stack *account.Stack, template []byte, on bool) {
	g.Helper()
	parameters := entered()
	parameters["EnableProvision"] = fmt.Sprint(on)
	answer, err := stack.Update(g.Ctx, "acme", template, parameters)
	g.Must(err)
	if answer.Status != "SUCCESS" {
		g.Fatalf("the function answers %+v", answer)
	}
}

// begins creates the install acme with its stack and its machine, and returns the directory of the runner there.
func (g gate) begins() (template []byte, stack *account.Stack, dir string) {
	g.Helper()
	vendor, err := g.Fleet.NewRepository(g.Ctx, "cloud", gated(g.dir))
	g.Must(err)
	g.Nuon("apps", "create", "cloud", "--repo", vendor.URL)
	g.Nuon("sync", "--app", "cloud")
	g.Nuon("runners", "create", "acme")
	g.Nuon("installs", "create", "acme", "--app", "cloud", "--runner", "acme", "--account", "aws.account_id="+customer,
		"--account", "aws.region=eu-central-1")
	template = g.rendered("acme")
	stack = g.create(template, customer, "acme", "SUCCESS")
	dir = g.start(stack, g.Fleet.Registry.Install()...)
	g.untilRegistered("acme")
	return template, stack, dir
}

// TestRoleEndsInAnApply checks what follows when the customer takes a role away: in the middle of an apply, which fails
// and keeps what it did; before an apply, in the account alone, which waits; and with the whole stack, which is deleted
// in the middle of an apply.
func TestRoleEndsInAnApply(t *testing.T) {
	t.Parallel()
	g := gate{newWorld(t), t.TempDir()}
	g.Must(os.Chmod(g.dir, 0o777)) //nolint:gosec // programs of jobs may be another user
	g.cloud.AWS.ShortenSessions(5 * time.Minute)
	template, stack, dir := g.begins()
	g.approve()
	g.untilWaits()
	g.update(stack, template, false)
	g.open()
	g.until("second gets no credentials")
	g.until("the role is switched off in the stack")
	g.until("runs under the role") // which is switched off in the customer's stack
	if got := g.log(); got != "first" {
		t.Errorf("without its role, %s ran", got)
	}
	if said := g.owner(dir, "audit"); !strings.Contains(said, "role refused") {
		t.Errorf("runnerd audit has no refusal:\n%s", said)
	}

	g.update(stack, template, true)
	g.Nuon("deploy", "acme")
	g.Must(fleet.Until(g.Ctx, testtime.Limit, "the rest is planned", func() (bool, error) {
		var all []api.Approval
		err := g.Fleet.JSON(g.Ctx, &all, "approvals", "list")
		return len(all) > 0, err
	}))
	var arn string
	for _, r := range stack.Resources {
		if r.Type == "AWS::IAM::Role" && strings.HasSuffix(r.ID, "-provision") {
			arn = r.ID
		}
	}
	role := g.cloud.AWS.Role(arn)
	g.cloud.AWS.RemoveRole(arn) // by hand: the stack does not report it
	g.approve()
	g.until("which is off or refuses the runner; it starts as soon as the role works again")
	if got := g.log(); got != "first" {
		t.Errorf("while the account refuses the role, %s ran", got)
	}
	g.cloud.AWS.AddRole(role)
	g.Until("acme", 1)
	if got := g.log(); got != "first second" {
		t.Errorf("after all, %s ran", got)
	}

	g.shut()
	g.Nuon("installs", "update", "acme", "--input", "generation=2")
	g.approve()
	g.untilWaits()
	if _, err := stack.Delete(g.Ctx); err != nil {
		t.Fatal(err)
	}
	g.open()
	g.until("second gets no credentials")
	g.until("deleted by the customer")
	if got := g.log(); got != "first second first" {
		t.Errorf("without the stack, %s ran", got)
	}
	g.until("of the customer's stack, which the customer has deleted")
	stack = g.create(template, customer, "again", "SUCCESS")
	g.Nuon("deploy", "acme")
	g.approve()
	g.Until("acme", 1)
	if got := g.log(); got != "first second first second" {
		t.Errorf("with another stack, %s ran", got)
	}

	g.Nuon("installs", "deprovision", "acme", "--yes")
	g.approve()
	g.until("the customer deletes the stack now: " + stack.ID)
	if _, err := stack.Delete(g.Ctx); err != nil {
		t.Fatal(err)
	}
	g.until("deleted by the customer")
	g.Nuon("installs", "forget", "acme")
}

// TestMachineEndsWithItsStackInAnApply checks what follows when the customer deletes the stack in the middle of an
// apply, and the runner's machine is gone before the apply has ended: nothing runs there again until a person says that
// the machine is lost, and the machine of another stack takes over what is in Terraform's state.
func TestMachineEndsWithItsStackInAnApply(t *testing.T) {
	t.Parallel()
	g := gate{newWorld(t), t.TempDir()}
	g.Must(os.Chmod(g.dir, 0o777)) //nolint:gosec // programs of jobs may be another user
	template, stack, dir := g.begins()
	g.approve()
	g.untilWaits()
	if _, err := stack.Delete(g.Ctx); err != nil {
		t.Fatal(err)
	}
	g.endMachine(dir)
	g.until("deleted by the customer")
	g.until("lost contact with runner acme")
	g.open()
	stack = g.create(template, customer, "again", "SUCCESS")
	disk := t.TempDir() // the customer has kept the install key
	key, err := os.ReadFile(filepath.Join(dir, "runner", "install.key"))
	g.Must(err)
	g.Must(os.Mkdir(filepath.Join(disk, "runner"), 0o700))
	g.Must(os.WriteFile(filepath.Join(disk, "runner", "install.key"), key, 0o600))
	g.startIn(disk, stack, g.Fleet.Registry.Install()...)
	if got := g.log(); got != "first" {
		t.Errorf("while the end of the first machine is not known, %s ran", got)
	}
	g.Nuon("runners", "replace", "acme", "--reason", "the customer deleted its machine", "--yes")
	g.Must(fleet.Until(g.Ctx, testtime.Limit, "the other machine waits", func() (bool, error) {
		return len(g.runner("acme").Claims) > 0, nil
	}))
	g.Nuon("runners", "confirm", "acme", "--account", customer, "--yes")
	g.untilRegistered("acme")
	g.Nuon("deploy", "acme")
	g.approve()
	g.Until("acme", 1)
	if got := g.log(); got != "first second" && got != "first first second" {
		t.Errorf("with another machine, %s ran", got)
	}
}

// endMachine ends every process of a runner's machine, as the end of the machine does.
func (g gate) endMachine(dir string) {
	g.Helper()
	testtime.Until(g.T, "nothing runs on the machine", func() bool {
		left, err := fault.UsingDir(dir)
		g.Must(err)
		for _, p := range left {
			_, err := fault.Kill(p)
			g.Must(err)
		}
		return len(left) == 0
	})
}
