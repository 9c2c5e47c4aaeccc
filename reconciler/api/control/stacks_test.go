package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// newStackVersions returns an install of an app with a stack on AWS.
func newStackVersions(t *testing.T) *stackBench {
	t.Helper()
	w := newWorld(t)
	config := hello("web")
	config.Inputs = nil
	config.Runner = &format.Runner{Type: "aws"}
	config.Stack = &format.Stack{Type: "aws-cloudformation", Name: "shop-{{.nuon.install.id}}", Description: "The shop"}
	config.Permissions = []format.StandingRole{{Type: "maintenance", Role: format.Role{
		Name: "{{.nuon.install.id}}-maintenance", Description: "Deploys",
		Policies: []format.RolePolicy{{ManagedPolicyName: "AdministratorAccess"}}}}}
	app := w.one.app("shop", config)
	runner, _ := w.one.runner("acme", "install", false)
	w.one.add("installs", "id", "ins_acme", "app_id", app, "name", "acme", "runner_id", runner.ID)
	return &stackBench{world: w, path: "/v1/installs/acme/stack"}
}

// post renders the stack.
func (b *stackBench) post() (stack api.Stack) {
	b.Helper()
	got := b.call(b.one.token["operator"], http.MethodPost, b.path, nil)
	if got.Status != http.StatusOK {
		b.Fatalf("%d %s", got.Status, got.Body)
	}
	must(b, json.Unmarshal([]byte(got.Body), &stack))
	return stack
}

// TestStackVersions follows the stack of an install from its first version to one that the customer does not run yet.
func TestStackVersions(t *testing.T) {
	t.Parallel()
	b := newStackVersions(t)
	first := b.post()
	if first.Version != 1 || first.Name != "shop-ins-acme" || first.Cloud != "aws" || len(first.Files) != 1 ||
		!strings.HasPrefix(first.Digest, "sha256:") || first.Status.Status != api.StackPending {
		t.Errorf("first %+v", first)
	}
	if len(first.Findings) != 1 || !strings.Contains(first.Findings[0].Message, "AdministratorAccess allows everything") {
		t.Errorf("found %+v", first.Findings)
	}
	if same := b.post(); same.Version != 1 || same.Digest != first.Digest {
		t.Errorf("the same again is version %d", same.Version)
	}
	outputs := b.call(b.one.token["operator"], http.MethodPost, "/v1/installs/acme/stack-outputs", map[string]any{
		"set": []any{output("vpc_id", "vpc-1")}, "stack_version": "1"})
	if outputs.Status != http.StatusOK {
		t.Fatalf("%d %s", outputs.Status, outputs.Body)
	}
	var install api.Install
	if b.get("/v1/installs/acme", &install); install.Stack.Status != api.StackActive || install.Stack.Newest != 1 {
		t.Errorf("the install's stack is %+v", install.Stack)
	}

	b.exec(`update installs set account = '{"aws_account": {"region": "eu-central-1"}}'`)
	second := b.post()
	if second.Version != 2 || second.Region != "eu-central-1" || second.Digest == first.Digest ||
		second.Status.Status != api.StackOutOfDate || second.Status.Running != "1" {
		t.Errorf("second: version %d, %+v", second.Version, second.Status)
	}
	var list api.StackVersionList
	var was api.Stack
	b.get(b.path+"/versions?limit=1", &list)
	b.get(b.path+"/versions/1", &was)
	if len(list.Items) != 1 || list.Items[0].Version != 2 || list.Next == "" || was.Digest != first.Digest ||
		was.Files[0].Content != first.Files[0].Content {
		t.Errorf("versions %+v, the first is now %s", list, was.Digest)
	}
	b.refusedAs(b.call(b.one.token["viewer"], http.MethodGet, b.path+"/versions/9", nil), http.StatusNotFound, "not_found")
	b.exec("set role nuon_app")
	b.exec("select set_config('nuon.org', $1, false)", b.one.org.ID)
	for _, sql := range []string{"update stack_versions set digest = 'x'", "delete from stack_versions"} {
		if _, err := b.seed.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestBadStack checks that a stack that cannot be rendered stores nothing, and that the error has every reason.
func TestBadStack(t *testing.T) {
	t.Parallel()
	b := newStackBench(t) // its app runs without a cloud
	got := b.call(b.one.token["operator"], http.MethodPost, "/v1/installs/acme/stack", nil)
	b.refusedAs(got, http.StatusUnprocessableEntity, "bad_stack")
	if !strings.Contains(got.Body, "runs without a cloud") ||
		b.text("select count(*)::text from stack_versions") != "0" {
		t.Errorf("%s", got.Body)
	}
}
