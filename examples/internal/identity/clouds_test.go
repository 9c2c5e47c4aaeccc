package identity

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/examples/internal/account"
	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// stackCloud is what differs between the clouds whose machines report their stack.
type stackCloud struct {
	name, stack, policy string
	account             []string // of the install
	output              string   // of the stack, that the sandbox reads
	role                string   // output with a role, after its kind
	token               string   // script that prints the token of its job
}

var (
	onGCP = stackCloud{name: "gcp", stack: "gcp-terraform",
		policy:  "name = \"viewer\"\ngcp_predefined_role = \"roles/viewer\"\n",
		account: []string{"--account", "gcp.project_id=acme-project", "--account", "gcp.region=europe-west1"},
		output:  "network_name", role: "_sa_email", token: "printf %s \"$GOOGLE_OAUTH_ACCESS_TOKEN\""}
	onAzure = stackCloud{name: "azure", stack: "azure-bicep",
		policy: "name = \"reader\"\nazure_built_in_roles = [\"Reader\"]\n",
		account: []string{"--account", "azure.subscription_id=00000000-0000-0000-0000-000000000001", "--account",
			"azure.tenant_id=" + tenant, "--account", "azure.location=westeurope"},
		output: "network_name", role: "_identity_name", token: "python3 -c \"import json, os, urllib.request as u\n" +
			"r = u.Request(os.environ['ARM_MSI_ENDPOINT'] + '?api-version=2019-08-01&resource=https://management.azure.com/')\n" +
			"print(json.load(u.urlopen(r))['access_token'], end='')\""}
)

// tenant is the tenant of the customer on Azure.
const tenant = "00000000-0000-0000-0000-00000000000a"

// app returns an app with a stack, whose action writes the token of its job into a directory.
func (c stackCloud) app(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	made := maps.Clone(app)
	for _, kind := range []string{"provision", "maintenance", "deprovision"} {
		made["permissions/"+kind+".toml"] = &fstest.MapFile{Data: []byte("type = \"" + kind +
			"\"\nname = \"{{.nuon.install.id}}-" + kind + "\"\ndescription = \"" + kind + "\"\n[[policies]]\n" + c.policy)}
	}
	delete(made, "break_glass.toml")
	delete(made, "actions/repair.toml")
	made["runner.toml"] = &fstest.MapFile{Data: []byte("runner_type = \"" + c.name + "\"\n")}
	made["stack.toml"] = &fstest.MapFile{Data: []byte("type = \"" + c.stack + "\"\n" +
		"name = \"cloud-{{.nuon.install.id}}\"\ndescription = \"Lets the runner in\"\n")}
	made["sandbox.toml"] = &fstest.MapFile{Data: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
		"directory = \"modules/base\"\n[vars]\nvpc = \"{{.nuon.install_stack.outputs." + c.output + "}}\"\n")}
	script, err := json.Marshal("#!/bin/sh\n" + c.token + " > " + dir + "/token\n") // such a text of JSON is one of TOML
	if err != nil {
		t.Fatal(err)
	}
	made["actions/show.toml"] = &fstest.MapFile{Data: []byte("name = \"show\"\n[[triggers]]\ntype = \"manual\"\n" +
		"[[steps]]\nname = \"show\"\ninline_contents = " + string(script) + "\n")}
	return made
}

// customerOf does what a customer does in a cloud.
type customerOf interface {
	// change applies the rendered stack, with the maintenance role on or off.
	change(stack string, maintenance bool) error
	machine(dir string) (*exec.Cmd, error)
	// role returns a role as the stack reports it, and holder that of a token.
	role(output string) string
	holder(token string) string
}

// fromStackToJob follows an install from the files of its stack to a registered machine, a plan under the role of the
// sandbox, and a job that acts as its role; and to one that waits, because the customer switched the role off. It
// returns the directory of the files.
func (c stackCloud) fromStackToJob(t *testing.T, w *world, player customerOf) (rendered string) {
	t.Helper()
	dir := t.TempDir()
	rendered = t.TempDir()
	w.Must(os.Chmod(dir, 0o777)) //nolint:gosec // programs of jobs may be another user
	vendor, err := w.Fleet.NewRepository(w.Ctx, "cloud", c.app(t, dir))
	w.Must(err)
	w.Nuon("apps", "create", "cloud", "--repo", vendor.URL)
	w.Nuon("sync", "--app", "cloud")
	w.Nuon("runners", "create", "acme")
	w.Nuon(append([]string{"installs", "create", "acme", "--app", "cloud", "--runner", "acme"}, c.account...)...)
	w.Nuon("installs", "stack", "render", "acme", "--output-dir", rendered)

	w.Must(player.change(rendered, true))
	disk := w.TempDir()
	machine, err := player.machine(disk)
	w.Must(err)
	machine.Env = append(machine.Env, w.Fleet.Registry.Install()...)
	w.run(machine)
	w.untilRegistered("acme")
	if _, want, _ := strings.Cut(c.account[1], "="); w.runner("acme").Identity.Account != want {
		t.Errorf("the runner is %+v", w.runner("acme"))
	}
	w.untilOutput("acme", "maintenance"+c.role, player.role("maintenance"+c.role))

	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the sandbox is planned", func() (bool, error) {
		var all []api.Approval
		err := w.Fleet.JSON(w.Ctx, &all, "approvals", "list")
		return len(all) > 0, err
	}))
	if said := w.owner(disk, "audit"); !strings.Contains(said, player.role("provision"+c.role)) {
		t.Errorf("the plan ran without its role:\n%s", said)
	}
	done, _ := w.act("acme", "show", "")
	if done.Status != api.WorkflowStatusSucceeded {
		t.Fatalf("the action %s: %s", done.Status, w.Nuon("logs", "workflow", done.ID))
	}
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	w.Must(err)
	if got, want := player.holder(string(token)), player.role("maintenance"+c.role); got != want || want == "" {
		t.Errorf("the action acted as %q, not as %q", got, want)
	}

	w.Must(player.change(rendered, false))
	w.untilOutput("acme", "maintenance"+c.role, "")
	if done, _ := w.act("acme", "show", ""); !strings.Contains(done.Steps[0].Reason,
		"switched off in the customer's stack") {
		t.Errorf("with the role off, the step is %s: %s", done.Steps[0].Status, done.Steps[0].Reason)
	}
	return rendered
}

// untilOutput waits until the stack of an install has reported an output.
func (w *world) untilOutput(install, name, value string) {
	w.Helper()
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the stack reports "+name, func() (bool, error) {
		got, last := w.outputs(install)
		return last != nil && strings.Trim(got[name], `"`) == value, nil
	}))
}

// gcpProject is a customer on GCP.
type gcpProject struct {
	*account.Project
	w *world
}

func (p gcpProject) change(module string, maintenance bool) error {
	variables := map[string]string{"registry": "127.0.0.1:1/acme"}
	if !maintenance {
		variables["roles"] = "{ maintenance = false }"
	}
	return p.Apply(p.w.Ctx, module, variables)
}

func (p gcpProject) machine(dir string) (*exec.Cmd, error) {
	return p.Machine(p.w.Ctx, filepath.Join(p.w.Fleet.Bin, "runnerd"), dir)
}

func (p gcpProject) role(output string) string  { return p.ServiceAccount(output) }
func (p gcpProject) holder(token string) string { return p.w.cloud.GCP.TokenHolder(token) }

// TestStackToRunnerOnGCP follows an install on GCP, whose customer applies the module of its stack with Terraform, with
// providers of a simulated cloud.
func TestStackToRunnerOnGCP(t *testing.T) {
	w := newWorld(t)
	providers, err := cloud.Start(w.Ctx, cloud.Options{Dir: t.TempDir()})
	w.Must(err)
	t.Cleanup(func() { _ = providers.Close() })
	project := &account.Project{Services: w.cloud, ID: "acme-project", Region: "europe-west1", Terraform: providers.Env()}
	rendered := onGCP.fromStackToJob(t, w, gcpProject{project, w})
	err = project.Apply(w.Ctx, rendered, map[string]string{"registry": "x", "roles": "{ maintain = true }"})
	if err == nil || !strings.Contains(err.Error(), "deprovision, maintenance, provision.") {
		t.Errorf("a role that the stack does not have: %v", err)
	}
}

// azureGroup is a customer on Azure.
type azureGroup struct {
	*account.Group
	w *world
}

func (g azureGroup) change(rendered string, maintenance bool) error {
	template, err := os.ReadFile(filepath.Join(rendered, "azuredeploy.json"))
	if err != nil {
		return err
	}
	return g.Deploy(template, map[string]any{"registry": "127.0.0.1:1/acme", "sshPublicKey": "ssh-ed25519 A",
		"enableMaintenance": maintenance})
}

func (g azureGroup) machine(dir string) (*exec.Cmd, error) {
	return g.Machine(g.w.Ctx, filepath.Join(g.w.Fleet.Bin, "runnerd"), dir)
}

func (g azureGroup) role(output string) string {
	name, _ := g.Output(output).(string)
	return name
}

// holder returns the name of the identity that a token is of.
func (g azureGroup) holder(token string) string {
	var claims struct {
		ID string `json:"xms_mirid"`
	}
	if parts := strings.Split(token, "."); len(parts) == 3 {
		raw, _ := base64.RawURLEncoding.DecodeString(parts[1]) // what cannot be read has no holder
		_ = json.Unmarshal(raw, &claims)
	}
	return claims.ID[strings.LastIndex(claims.ID, "/")+1:]
}

// TestStackToRunnerOnAzure follows an install on Azure, whose customer deploys the template of its stack.
func TestStackToRunnerOnAzure(t *testing.T) {
	w := newWorld(t)
	group := &account.Group{Services: w.cloud, Options: cloudtest.DeploymentOptions{Tenant: tenant,
		Subscription: "00000000-0000-0000-0000-000000000001", Group: "acme", Location: "westeurope"}}
	onAzure.fromStackToJob(t, w, azureGroup{group, w})
}
