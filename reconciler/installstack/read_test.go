package installstack_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// TestFindings checks what a stack is refused for, and what it is warned of.
func TestFindings(t *testing.T) {
	everything := `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": ["*"]}}`
	for name, c := range map[string]struct {
		change func(app *appconfig.App, facts *installstack.Facts)
		want   string
		fatal  bool
	}{
		"no cloud": {func(app *appconfig.App, _ *installstack.Facts) { app.Runner.Type = "local" },
			"the app runs without a cloud", true},
		"no address of the runner API": {func(_ *appconfig.App, f *installstack.Facts) { f.Runner.URL = "" },
			"the address at which runners reach it is not set", true},
		"no TLS": {func(_ *appconfig.App, f *installstack.Facts) { f.Runner.URL = "http://runners.example.com" },
			"runners would reach it at http://runners.example.com, without encryption", false},
		"no program": {func(_ *appconfig.App, f *installstack.Facts) { f.Runner.SHA256 = "" },
			"it has no runner program to serve", true},
		"an output of the sandbox": {func(app *appconfig.App, _ *installstack.Facts) {
			app.Permissions[0].Description = "{{.nuon.sandbox.outputs.vpc.id}}"
		}, "description cannot be rendered", true},
		"a sensitive input": {func(app *appconfig.App, _ *installstack.Facts) {
			app.Permissions[0].Description = "{{.nuon.inputs.inputs.token}}"
		}, "description cannot be rendered", true},
		"a required input without a value": {func(app *appconfig.App, _ *installstack.Facts) {
			app.Stack.Description = "{{.nuon.inputs.inputs.domain}}"
		}, "description cannot be rendered", true},
		"a dynamic reference": {func(_ *appconfig.App, f *installstack.Facts) {
			f.Inputs["size"] = "{{resolve:secretsmanager:theirs}}"
		}, "which the cloud would replace with the value of a secret", true},
		"a broken document": {func(app *appconfig.App, _ *installstack.Facts) {
			app.Permissions[0].Policies[1].Contents = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
				"Action": ["s3"], "Resource": "*", "Principal": "*"}]}`
		}, `"s3" is no action`, true},
		"two roles of one name": {func(app *appconfig.App, _ *installstack.Facts) {
			app.BreakGlass[0].Name = app.Permissions[0].Name
		}, "two roles have the name", true},
		"two roles that differ in the case of letters": {func(app *appconfig.App, _ *installstack.Facts) {
			app.Permissions[0].Name, app.Permissions[1].Name = "deploy", "Deploy"
		}, "two roles have the name", true},
		"a role without a name": {func(app *appconfig.App, _ *installstack.Facts) { app.Permissions[0].Name = " " },
			"a role has no name", true},
		"a name that depends on the region": {func(app *appconfig.App, _ *installstack.Facts) {
			app.Permissions[0].Name = "r-{{.nuon.cloud_account.aws.region}}"
		}, "its name depends on the cloud account, which is not set", true},
		"an administrator": {func(app *appconfig.App, _ *installstack.Facts) {
			app.BreakGlass[0].Policies = []format.RolePolicy{{ManagedPolicyName: "AdministratorAccess"}}
			app.BreakGlass[0].PermissionsBoundary = everything
		}, "AdministratorAccess allows everything in the account, and no permissions boundary limits it", false},
		"a document that allows everything": {func(app *appconfig.App, _ *installstack.Facts) {
			app.Permissions[0].PermissionsBoundary, app.Permissions[0].Policies[1].Contents = "", everything
		}, "its policy own allows everything in the account", false},
		"a sensitive parameter": {func(*appconfig.App, *installstack.Facts) {}, "input token is sensitive", false},
	} {
		t.Run(name, func(t *testing.T) {
			app, facts := stacktest.App("aws"), stacktest.Facts()
			c.change(app, &facts)
			read := installstack.Read(app, facts)
			if (read.Stack == nil) != c.fatal || !strings.Contains(read.Findings.String(), c.want) {
				t.Errorf("found %s", read.Findings)
			}
		})
	}
}

// TestABoundedAdministrator checks that a boundary that names services is enough.
func TestABoundedAdministrator(t *testing.T) {
	app := stacktest.App("aws")
	app.Permissions[0].Policies = []format.RolePolicy{{ManagedPolicyName: "AdministratorAccess"}}
	if found := installstack.Read(app, stacktest.Facts()).Findings.String(); strings.Contains(found, "everything") {
		t.Errorf("found %s", found)
	}
}

// TestBreadthOnAzure checks that a stack is warned of roles that allow everything, by name, id or action.
func TestBreadthOnAzure(t *testing.T) {
	for _, policy := range []format.RolePolicy{{AzureBuiltInRoles: []string{"Owner"}}, {AzureActions: []string{"*"}},
		{AzureBuiltInRoles: []string{"8E3AF657-a8ff-443c-a75c-2fe8c4bcb635"}}} {
		app := stacktest.App("azure")
		app.Permissions[0].Policies = []format.RolePolicy{policy}
		if found := installstack.Read(app, stacktest.Facts()).Findings.String(); !strings.Contains(found,
			"allows everything in the account") {
			t.Errorf("%v: found %s", policy, found)
		}
	}
}

// TestKnownAccount checks that a known region is written out, and an unknown one stays open.
func TestKnownAccount(t *testing.T) {
	app, facts := stacktest.App("aws"), stacktest.Facts()
	app.Permissions[0].Description = "in {{.nuon.cloud_account.aws.region}}"
	if s := stacktest.Stack(t, app, facts); s.Roles[0].Description != "in (the region of this stack)" || s.Region != "" {
		t.Errorf("%q, region %q", s.Roles[0].Description, s.Region)
	}
	facts.Account = map[string]map[string]string{"aws_account": {"region": "eu-central-1"}}
	if s := stacktest.Stack(t, app, facts); s.Roles[0].Description != "in eu-central-1" || s.Region != "eu-central-1" {
		t.Errorf("%q, region %q", s.Roles[0].Description, s.Region)
	}
}

// TestFit checks that names that are cut stay different.
func TestFit(t *testing.T) {
	long := strings.Repeat("a", 70)
	a, b := installstack.FitRoleName(long+"b"), installstack.FitRoleName(long+"c")
	if a == b || len(a) > 64 || installstack.FitRoleName("x y") == installstack.FitRoleName("x-y") ||
		installstack.FitRoleName("ins_1-provision") != "ins_1-provision" {
		t.Errorf("%q and %q", a, b)
	}
}
