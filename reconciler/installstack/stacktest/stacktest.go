// Package stacktest has an app and an install whose stack uses everything that a stack can have.
package stacktest

import (
	"fmt"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// InstallID is the id of the install.
const InstallID = "ins_06hv0000000000000000000000"

// Facts returns the facts of the install.
func Facts() installstack.Facts {
	return installstack.Facts{
		Install: installstack.Install{ID: InstallID, Name: "acme", AppID: "app_1", App: "ledger", OrgID: "org_1"},
		Org:     "vendor", Inputs: map[string]string{"size": "large"},
		Runner: installstack.Runner{URL: "https://runners.example.com",
			DownloadURL: "https://runners.example.com/runnerd/00ff", SHA256: "00ff",
			AzureAudience: "api://nuon.example.com"},
		Claim: "nuonc_org_1.ins_1.claim", Version: 3,
	}
}

// policy is a policy document with an expression, a condition and a variable of IAM.
const policy = `{"Version": "2012-10-17", "Statement": [{"Sid": "Own", "Effect": "Allow", "Action": ["s3:GetObject"],
  "Resource": "arn:aws:s3:::ledger-{{.nuon.cloud_account.aws.region}}/${aws:PrincipalTag/team}/*",
  "Condition": {"StringEquals": {"aws:ResourceTag/install.nuon.co/id": "{{.nuon.install.id}}"}}}]}`

// boundary is a document that allows some services.
const boundary = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:*", "ec2:*"], "Resource": "*"}]}`

// App returns the app for a cloud.
func App(cloud string) *appconfig.App {
	text := func(s string) *string { return &s }
	first := 0
	app := &appconfig.App{
		Runner: &format.Runner{Type: cloud},
		Stack: &format.Stack{Name: "ledger-{{.nuon.install.id}}", Description: "Runs the ledger's runner: ${HOME} & 'quotes'",
			VPCNestedTemplateURL: "https://templates.s3.amazonaws.com/vpc.yaml",
			CustomNestedStacks: []format.NestedStack{{Name: "storage", Index: &first,
				TemplateURL: "https://templates.s3.amazonaws.com/storage.yaml",
				Parameters:  map[string]string{"Size": "{{.nuon.inputs.inputs.size}}"}}}},
		Groups: []appconfig.InputGroup{{Name: "sizing", DisplayName: "Sizing", Description: "How big"}},
		Inputs: []appconfig.Input{
			{Name: "size", DisplayName: "Size", Description: "T-shirt", Group: "sizing", UserConfigurable: true},
			{Name: "nodes", DisplayName: "Nodes", Group: "sizing", Type: "number", Default: text("3"), UserConfigurable: true},
			{Name: "zones", DisplayName: "Zones", Group: "sizing", Type: "list", Default: text("a,b"), UserConfigurable: true},
			{Name: "debug", DisplayName: "Debug", Group: "sizing", Type: "bool", UserConfigurable: true},
			{Name: "domain", DisplayName: "Domain", Group: "sizing", Required: true, UserConfigurable: true},
			{Name: "token", DisplayName: "Token", Group: "sizing", Sensitive: true, UserConfigurable: true},
			{Name: "plan", DisplayName: "Plan", Group: "sizing", Internal: true, UserConfigurable: true},
		},
		Secrets: []appconfig.Secret{
			{Name: "license", DisplayName: "Licence key", Description: "From your contract", Required: true},
			{Name: "smtp_password", Description: "Sends mail"},
			{Name: "session_key", Description: "Signs sessions", AutoGenerate: true},
			{Name: "wildcard", Description: "Certificate", CustomerManaged: true},
		},
		Components: []appconfig.Component{{Name: "web", Kind: format.KindTerraformModule, Terraform: &appconfig.Terraform{
			Vars: map[string]string{"bucket": "{{.nuon.install_stack.outputs.custom_nested_stacks.storage.outputs.Bucket}}"}}}},
		OperationRoles: []format.OperationRule{{Principal: "nuon::component:web", Operation: "deploy",
			Role: "{{ .nuon.install.id }}-web-deploy"}},
		Permissions: roles(cloud),
	}
	emergency := role(cloud, "repair", "Repair")
	app.BreakGlass = []format.Role{emergency.Role}
	return app
}

// roles returns a role of each kind, a custom one that an operation uses and one that none does.
func roles(cloud string) []format.StandingRole {
	var all []format.StandingRole
	for _, kind := range []string{"provision", "maintenance", "deprovision"} {
		r := role(cloud, kind, kind)
		r.Type = kind
		all = append(all, r)
	}
	for _, name := range []string{"web-deploy", "unused"} {
		r := role(cloud, name, name)
		r.Type = "custom"
		all = append(all, r)
	}
	return all
}

func role(cloud, name, label string) format.StandingRole {
	r := format.Role{Name: "{{.nuon.install.id}}-" + name, DisplayName: label, Description: "What " + name + " needs"}
	switch cloud {
	case "aws":
		r.PermissionsBoundary = boundary
		r.Policies = []format.RolePolicy{{ManagedPolicyName: "PowerUserAccess"}, {Name: "own", Contents: policy}}
	case "gcp":
		r.Policies = []format.RolePolicy{{Name: "viewer", GCPPredefinedRole: "roles/viewer"},
			{Name: "own", GCPPermissions: []string{"storage.objects.get"}}}
	case "azure":
		r.Policies = []format.RolePolicy{{Name: "reader", AzureBuiltInRoles: []string{"Reader"}},
			{Name: "own", AzureActions: []string{"Microsoft.Storage/*/read"}}}
	}
	return format.StandingRole{Role: r}
}

// Large returns an app for AWS with many roles and parameters.
func Large(roles, secrets int) *appconfig.App {
	app := App("aws")
	for i := range roles - len(app.Permissions) - len(app.BreakGlass) {
		r := role("aws", fmt.Sprintf("custom-%d", i), "Custom")
		r.Type = "custom"
		app.Permissions = append(app.Permissions, r)
	}
	for i := range secrets {
		app.Secrets = append(app.Secrets, appconfig.Secret{Name: fmt.Sprintf("secret_%d", i), Description: "One of many"})
	}
	return app
}

// Stack returns the stack of an app, which must have no errors.
func Stack(t testing.TB, app *appconfig.App, facts installstack.Facts) *installstack.Stack {
	t.Helper()
	read := installstack.Read(app, facts)
	if read.Stack == nil {
		t.Fatal(read.Findings.Err())
	}
	return read.Stack
}
