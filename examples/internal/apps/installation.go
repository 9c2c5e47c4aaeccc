package apps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/examples/internal/cloud/standin"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/kubernetes"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// installation is the install of one app, with a runner, a cloud and a cluster.
type installation struct {
	*World
	*App
	name       string // of the install, and of its runner if it has its own
	dir        string
	repository *fleet.Repository
	cloud      *cloud.Cloud
	kubernetes *kubernetes.Cluster
	runner     *fleet.Runner
	secrets    *secretStore
	customers  []cloud.Object // what was in the cloud before the install
}

// stepLimit bounds a step; apps that make no progress end earlier.
const stepLimit = 6 * time.Minute

func (n *installation) close() (err error) {
	if n.runner != nil {
		err = n.runner.Stop(10 * time.Second)
	}
	if n.kubernetes != nil {
		err = errors.Join(err, n.kubernetes.Stop())
	}
	if n.cloud != nil {
		err = errors.Join(err, n.cloud.Close())
	}
	if n.secrets != nil {
		n.secrets.server.Close()
	}
	return err
}

// validate checks the config as it is in the source.
func (n *installation) validate(ctx context.Context) error {
	_, err := n.fleet.Nuon(ctx, "validate", n.Source)
	return err
}

// build creates the app and waits until its components are built.
func (n *installation) build(ctx context.Context) (err error) {
	if n.sandboxErr != nil {
		return n.sandboxErr
	}
	if n.repository, err = n.fleet.NewRepository(ctx, n.Name, os.DirFS(n.tree)); err != nil {
		return err
	}
	if _, err := n.fleet.Nuon(ctx, "apps", "create", n.Name, "--repo", n.repository.URL); err != nil {
		return err
	}
	return n.sync(ctx)
}

// sync waits until the builds of the newest release have ended.
func (n *installation) sync(ctx context.Context) error {
	if _, err := n.fleet.Nuon(ctx, "sync", "--app", n.Name); err != nil {
		return n.explainBuilds(ctx, err)
	}
	return nil
}

// explainBuilds returns the errors of builds that failed, or err if there is none.
func (n *installation) explainBuilds(ctx context.Context, err error) error {
	var builds []api.Build
	if listErr := n.fleet.JSON(ctx, &builds, "builds", "list", "--app", n.Name); listErr != nil {
		return errors.Join(err, listErr)
	}
	var texts []string
	for _, b := range builds {
		if b.Status == api.BuildStatusFailed {
			texts = append(texts, b.Component+": "+b.Error)
		}
	}
	if len(texts) == 0 {
		return err
	}
	return errors.New(strings.Join(texts, "; "))
}

// provision starts the customer's cluster, cloud and runner, creates the install, and waits until everything is
// applied.
func (n *installation) provision(ctx context.Context) (err error) {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	kubeconfig := ""
	if n.needsCluster() {
		if n.kubernetes, err = n.openCluster(ctx, filepath.Join(n.dir, "kubernetes")); err != nil {
			return err
		}
		kubeconfig = n.kubernetes.Kubeconfig
	}
	n.cloud, err = cloud.Start(ctx, cloud.Options{Dir: filepath.Join(n.dir, "cloud"), Kubeconfig: kubeconfig})
	if err != nil {
		return err
	}
	if err := n.addDefinitions(ctx); err != nil {
		return err
	}
	env, err := n.addTools()
	if err != nil {
		return err
	}
	// The clusters of Azure are reached with the login program that its documentation names. No roles are assumed: the
	// simulated cloud has none.
	policy := filepath.Join(n.dir, "runner.toml")
	rules := "[cluster]\nexec = [\"kubelogin\"]\n[roles]\nown_identity = true\n" + secretRules
	if err := os.WriteFile(policy, []byte(rules), 0o644); err != nil {
		return err
	}
	n.secrets = openSecretStore()
	env = append(env, n.secrets.env()...)
	if n.runner, err = n.fleet.AddInstaller(ctx, n.name, []string{"--policy", policy}, env); err != nil {
		return err
	}
	install, err := n.create(ctx, n.name)
	if err != nil {
		return err
	}
	n.enterSecrets(install.ID)
	if err := n.addNamespaces(ctx, install.ID); err != nil {
		return err
	}
	if err := n.setStackOutputs(ctx, install); err != nil {
		return err
	}
	return n.until(ctx, "current")
}

// needsCluster reports whether the app or its sandbox uses a cluster.
func (n *installation) needsCluster() bool {
	switch filepath.Base(n.sandbox.Directory) {
	case "aws-eks", "gcp-gke", "azure-aks":
		return true
	}
	return slices.ContainsFunc(n.config.Components, func(c appconfig.Component) bool {
		return c.Helm != nil || c.Manifest != nil
	})
}

// create creates the install with plausible inputs, at a runner.
func (n *installation) create(ctx context.Context, runner string) (install api.Install, err error) {
	args := []string{"installs", "create", n.name, "--app", n.Name, "--runner", runner, "--approval", "approve-all",
		"--allow-destroy"}
	args = append(args, n.account()...)
	plain, secret := n.inputs()
	if err := n.addCluster(ctx, plain["cluster_name"]); err != nil {
		return install, err
	}
	for name, value := range plain {
		args = append(args, "--input", name+"="+value)
	}
	for name, value := range secret {
		file := filepath.Join(n.dir, "secret-"+name)
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			return install, err
		}
		args = append(args, "--secret", name+"=@"+file)
	}
	if _, err := n.fleet.Nuon(ctx, args...); err != nil {
		return install, err
	}
	return install, n.fleet.JSON(ctx, &install, "installs", "get", n.name)
}

// addTools writes the programs that scripts of actions run, and returns the environment of the runner.
func (n *installation) addTools() (env []string, err error) {
	tools := filepath.Join(n.dir, "tools")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(n.cluster, filepath.Join(tools, "kubectl")); err != nil {
		return nil, err
	}
	// The machines of runners have a sh with the options of bash.
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, err
	}
	if err := os.Symlink(bash, filepath.Join(tools, "sh")); err != nil {
		return nil, err
	}
	for _, name := range []string{"aws", "gcloud", "az", "curl"} {
		text := fmt.Sprintf(cloudTool, filepath.Join(n.dir, "cloud", "bin", name))
		if err := os.WriteFile(filepath.Join(tools, name), []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	env = n.cloud.Env()
	for i, entry := range env {
		if path, is := strings.CutPrefix(entry, "PATH="); is {
			env[i] = "PATH=" + tools + string(os.PathListSeparator) + path
		}
	}
	return env, nil
}

// cloudTool stands in for programs that talk to a cloud or to the app itself: it answers what a
// healthy one would.
const cloudTool = `#!/bin/sh
case "$*" in *get-token*) exec %s "$@" ;; esac
query= file=/dev/stdout code=
while [ $# -gt 0 ]; do
	case "${0##*/} $1" in
	*' --query') query=$2 ;;
	*' --query='*) query=${1#--query=} ;;
	'curl -o') file=$2 ;;
	'curl -w') code=200 ;;
	esac
	shift
done
case "$query" in
*PingStatus*) echo Online ;;
*Status) echo Success ;;
'') echo '{}' >"$file" ;;
*) echo standin ;;
esac
[ -z "$code" ] || echo "$code"
`

// addNamespaces creates the namespaces of the app's manifests: those that sandboxes create are in the
// simulated cloud only, and those of a customer's own cluster are there before.
func (n *installation) addNamespaces(ctx context.Context, installID string) error {
	if n.kubernetes == nil {
		return nil
	}
	names := map[string]bool{installID: true}
	for _, c := range n.config.Components {
		if c.Manifest != nil && c.Manifest.Namespace != "" && !strings.Contains(c.Manifest.Namespace, "{{") {
			names[c.Manifest.Namespace] = true
		}
	}
	delete(names, "default")
	var objects strings.Builder
	for name := range names {
		fmt.Fprintf(&objects, "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", name)
	}
	return n.kubectl(ctx, objects.String(), "apply", "-f", "-")
}

func (n *installation) setStackOutputs(ctx context.Context, install api.Install) error {
	outputs, err := n.stackOutputs(install.ID)
	if err != nil || string(outputs) == "{}" {
		return err
	}
	file := filepath.Join(n.dir, "stack.json")
	if err := os.WriteFile(file, outputs, 0o644); err != nil {
		return err
	}
	_, err = n.fleet.Nuon(ctx, "installs", "stack", "set", n.name, "--file", file)
	return err
}

// until waits until the install has a status and its last workflow has ended.
func (n *installation) until(ctx context.Context, status string) error {
	var i api.Install
	err := fleet.Until(ctx, stepLimit, n.name+" is "+status, func() (bool, error) {
		i = api.Install{}
		if err := n.fleet.JSON(ctx, &i, "installs", "get", n.name); err != nil {
			return false, err
		}
		running := i.LastWorkflow.Status == string(api.WorkflowStatusRunning)
		switch {
		case i.Status == api.InstallStatusWaitingForApproval:
			return false, n.approve(ctx)
		case running:
			return false, nil
		case string(i.Status) == status:
			if status == "current" && i.Release != i.Latest {
				return false, nil
			}
			return true, n.failedActions(ctx)
		case i.Blocked || i.Status == api.InstallStatusStalled || i.Status == api.InstallStatusRejected:
			return false, fmt.Errorf("%s: %s", i.Status, n.reasons(i))
		}
		return false, nil
	})
	if err != nil && i.LastWorkflow.Status == string(api.WorkflowStatusRunning) {
		err = fmt.Errorf("%w; %s", err, n.unfinished(ctx))
	}
	return err
}

// approve approves what waits as a person does who has read it: scripts of actions, which no rule
// approves.
func (n *installation) approve(ctx context.Context) error {
	var waiting []api.Approval
	err := n.fleet.JSON(ctx, &waiting, "approvals", "list", "--each", "--install", n.name, "--limit", "0")
	if err != nil {
		return err
	}
	for _, a := range waiting {
		if _, err := n.fleet.Nuon(ctx, "approve", a.ID); err != nil {
			return err
		}
	}
	return nil
}

// unfinished describes the steps of the last workflow that have not ended.
func (n *installation) unfinished(ctx context.Context) string {
	var last api.Workflow
	if err := n.fleet.JSON(ctx, &last, "workflows", "get", "latest:"+n.name); err != nil {
		return err.Error()
	}
	var texts []string
	for _, step := range last.Steps {
		switch step.Status {
		case api.StepStatusRunning, api.StepStatusWaiting, api.StepStatusFailed:
			texts = append(texts, fmt.Sprintf("%s %s%s is %s: %s", step.Kind, step.Component, step.Action, step.Status,
				step.Reason))
		}
	}
	return strings.Join(texts, "; ")
}

// reasons returns why components are not current.
func (n *installation) reasons(i api.Install) string {
	var texts []string
	for _, c := range i.Components {
		if c.Status != api.InstallComponentStatusCurrent && c.Status != api.InstallComponentStatusWaiting && c.Reason != "" {
			texts = append(texts, c.Name+": "+c.Reason)
		}
	}
	for _, c := range i.Components {
		if len(texts) == 0 && c.Status == api.InstallComponentStatusWaiting {
			texts = append(texts, c.Name+": "+c.Reason)
		}
	}
	if len(texts) == 0 {
		return i.Reason
	}
	return strings.Join(texts, "; ")
}

// failedActions notes the actions of the last workflow that failed.
func (n *installation) failedActions(ctx context.Context) error {
	var last api.Workflow
	if err := n.fleet.JSON(ctx, &last, "workflows", "get", "latest:"+n.name); err != nil {
		return err
	}
	for _, step := range last.Steps {
		if step.Kind == api.StepKindAction && step.Status == api.StepStatusFailed {
			n.note("action %s failed: %s", step.Action, step.Reason)
		}
	}
	return nil
}

// plan plans all components and returns the steps of plans that are not empty.
func (n *installation) plan(ctx context.Context) (changed []api.Step, err error) {
	args := []string{"deploy", n.name}
	var i api.Install
	if err := n.fleet.JSON(ctx, &i, "installs", "get", n.name); err != nil {
		return nil, err
	}
	for _, c := range i.Components {
		if c.Status == api.InstallComponentStatusCurrent {
			args = append(args, c.Name)
		}
	}
	var planned struct{ Workflow api.Workflow }
	if err := n.fleet.JSON(ctx, &planned, append(args, "--redeploy", "--plan-only")...); err != nil {
		return nil, err
	}
	plans := 0
	for _, step := range planned.Workflow.Steps {
		if step.Kind != api.StepKindPlan {
			continue
		}
		plans++
		if step.Reason != "planned only: no changes" {
			changed = append(changed, step)
		}
	}
	if components := len(args) - 2; plans < components {
		return nil, fmt.Errorf("%d of %d components have plans", plans, components)
	}
	return changed, nil
}

// planAgain plans all components and fails if a plan has changes.
func (n *installation) planAgain(ctx context.Context) error {
	changed, err := n.plan(ctx)
	if err == nil && len(changed) > 0 {
		err = fmt.Errorf("plans are not empty: %s", describe(changed))
	}
	return err
}

// describe returns the components and the reasons of steps.
func describe(steps []api.Step) string {
	var texts []string
	for _, step := range steps {
		texts = append(texts, step.Component+": "+step.Reason)
	}
	return strings.Join(texts, "; ")
}

// update pushes changes of the app's code, or of its config if it has no code that can be changed, and
// waits until they are applied.
func (n *installation) update(ctx context.Context) error {
	changed, err := n.mirror.update(ctx, n.App, n.apps)
	if err != nil {
		return err
	}
	if !changed {
		if changed, err = n.changeManifest(ctx); err != nil {
			return err
		}
	}
	if !changed {
		return n.changeInput(ctx)
	}
	if err := n.sync(ctx); err != nil {
		return err
	}
	return n.until(ctx, "current")
}

// errNothingToUpdate means that the app has nothing of which the update can push another version.
var errNothingToUpdate = errors.New("there is nothing to update")

// changeInput changes an input that any text is good for.
func (n *installation) changeInput(ctx context.Context) error {
	for _, input := range n.config.Inputs {
		if strings.Contains(input.Name, "domain") && !input.Sensitive {
			_, err := n.fleet.Nuon(ctx, "installs", "update", n.name, "--input", input.Name+"=updated")
			return errors.Join(err, n.until(ctx, "current"))
		}
	}
	return errNothingToUpdate
}

// changeManifest adds an object to a manifest of the config, and reports whether there is one.
func (n *installation) changeManifest(ctx context.Context) (bool, error) {
	files, err := filepath.Glob(filepath.Join(n.repository.Tree, "components", "*.toml"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		before, after, found := strings.Cut(string(content), "manifest = \"\"\"\n")
		if !found {
			continue
		}
		object := "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: update\n"
		if err := os.WriteFile(file, []byte(before+"manifest = \"\"\"\n"+object+after), 0o644); err != nil {
			return false, err
		}
		return true, n.repository.Push(ctx, "Add an object")
	}
	return false, nil
}

// deprovision removes everything, and fails if an object is left.
func (n *installation) deprovision(ctx context.Context) error {
	if _, err := n.fleet.Nuon(ctx, "installs", "deprovision", n.name, "--yes"); err != nil {
		return err
	}
	if err := n.until(ctx, "deprovisioned"); err != nil {
		return err
	}
	left, err := n.cloud.Objects(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, object := range left {
		before := slices.ContainsFunc(n.customers, func(o cloud.Object) bool {
			return o.Type == object.Type && o.ID == object.ID
		})
		if !before {
			names = append(names, object.Type+" "+object.ID)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("left in the cloud: %s", strings.Join(names, ", "))
	}
	return nil
}

// kubectl runs the tool with the install's cluster.
func (n *installation) kubectl(ctx context.Context, input string, args ...string) error {
	cmd := exec.CommandContext(ctx, n.cluster, append([]string{"kubectl", "--kubeconfig",
		n.kubernetes.Kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", args[0], err, out)
	}
	return nil
}

// builtIn are the groups of the API that a cluster has.
var builtIn = []string{"apps", "batch", "policy", "autoscaling", "extensions"}

// gp2 is the storage class that clusters of AWS have.
const gp2 = `{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "gp2"},
	"provisioner": "kubernetes.io/aws-ebs", "parameters": {"fsType": "ext4", "type": "gp2"},
	"volumeBindingMode": "WaitForFirstConsumer"}`

// addDefinitions creates gp2 where the cloud has it, and defines the kinds of the app's manifests that
// charts of its sandbox define in a real cluster.
func (n *installation) addDefinitions(ctx context.Context) error {
	if n.kubernetes == nil {
		return nil
	}
	var all []string
	if standin.Cloud(n.config) == "aws" {
		all = append(all, gp2)
	}
	kinds := n.foreignKinds()
	for _, k := range kinds {
		text, err := json.Marshal(k.definition())
		if err != nil {
			return err
		}
		all = append(all, string(text))
		n.note("kind %s is a stand-in", k.kind)
	}
	slices.Sort(all)
	if len(all) == 0 {
		return nil
	}
	return n.kubectl(ctx, strings.Join(all, "\n---\n"), "apply", "-f", "-")
}
