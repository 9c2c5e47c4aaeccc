package azure_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/azure"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

var update = flag.Bool("update", false, "write the golden file anew")

// stack returns the stack of the app of stacktest.
func stack(t testing.TB) *installstack.Stack {
	t.Helper()
	return stacktest.Stack(t, stacktest.App("azure"), stacktest.Facts())
}

func render(t testing.TB, s *installstack.Stack) []byte {
	t.Helper()
	raw, findings := azure.Render(s)
	if raw == nil {
		t.Fatal(findings.Err())
	}
	return raw
}

// TestGolden compares the template of a stack with everything with the one that was reviewed.
func TestGolden(t *testing.T) {
	const file = "testdata/azuredeploy.json"
	got := render(t, stack(t))
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil { //nolint:gosec // of the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the template is not that of %s (-args -update writes it): %v", file, err)
	}
}

// given are the parameters that a customer enters.
func given() map[string]any {
	return map[string]any{"registry": "acme.azurecr.io/ledger", "registryPassword": "it's $(id) hunter2",
		"sshPublicKey": "k", "inputDomain": "a'b\n$(id)",
		"secretLicense": "x", "secretWildcardUri": "https://v.vault.azure.net/secrets/w",
		"enableRepair": true, "untilRepair": "2026-11-23T22:00:00Z"}
}

// TestEvaluation evaluates every expression of a template with what a customer enters. It fails for an unknown
// function, parameter or variable, a value that the wrong type has, and a dependency on a resource that the template
// does not have.
func TestEvaluation(t *testing.T) {
	for name, existing := range map[string]bool{"new network": false, "existing network": true} {
		t.Run(name, func(t *testing.T) {
			s := stack(t)
			s.ExistingNetwork = existing
			entered := given()
			if existing {
				maps.Copy(entered, map[string]any{"networkName": "theirs", "publicSubnetName": "a", "privateSubnetName": "b",
					"runnerSubnetName": "c"})
			}
			d := deploy(t, render(t, s), entered)
			machine := d.resource("Microsoft.Compute/virtualMachines")
			if machine["name"] != installstack.RunnerRoleName(stacktest.InstallID) {
				t.Errorf("the machine is %v, and the control plane accepts %s", machine["name"],
					installstack.RunnerRoleName(stacktest.InstallID))
			}
			identity := machine["identity"].(map[string]any)
			if len(identity["userAssignedIdentities"].(map[string]any)) != 5 { // all but the unused custom role
				t.Errorf("the machine has %v", identity)
			}
			for _, output := range []string{"resource_group_id", "resource_group_name", "resource_group_location",
				"subscription_id", "subscription_tenant_id", "network_id", "network_name", "public_subnet_ids",
				"public_subnet_names", "private_subnet_ids", "private_subnet_names", "key_vault_id", "key_vault_name"} {
				if v := d.Outputs[output]; v == nil || v == "" {
					t.Errorf("there is no output %s", output)
				}
			}
			inputs := d.Outputs["install_inputs"].(map[string]any)
			if inputs["domain"] != "a'b\n$(id)" || inputs["size"] != "large" {
				t.Errorf("the inputs are %v", inputs)
			}
			if d.Outputs["smtp_password_arn"] != "" || d.Outputs["license_arn"] == "" {
				t.Errorf("the secrets are %v", d.Outputs)
			}
		})
	}
}

// TestRoleOutputs checks that the stack reports the identity of each role that is on, by the name that the runner's
// machine finds, and that an emergency role is on only with an end that has not passed.
func TestRoleOutputs(t *testing.T) {
	const repair = stacktest.InstallID + "-repair"
	raw := render(t, stack(t))
	for until, on := range map[string]bool{"": false, "2026-11-23T19:59:59Z": false, "2026-11-23T22:00:00Z": true} {
		entered := given()
		entered["untilRepair"], entered["enableDeprovision"] = until, false
		d := deploy(t, raw, entered)
		identities := d.resource("Microsoft.Compute/virtualMachines")["identity"].(map[string]any)["userAssignedIdentities"]
		has := func(name any) bool {
			_, has := identities.(map[string]any)[group.ResourceID("Microsoft.ManagedIdentity/userAssignedIdentities",
				fmt.Sprint(name))]
			return has
		}
		if !has(d.Outputs["provision_identity_name"]) || !has(d.Outputs["maintenance_identity_name"]) {
			t.Errorf("the machine has %v, and the roles are %v", identities, d.Outputs)
		}
		if d.Outputs["deprovision_identity_name"] != "" {
			t.Errorf("a role that is off is %v", d.Outputs["deprovision_identity_name"])
		}
		name := d.Outputs["break_glass_identity_names"].(map[string]any)[repair]
		end := d.Outputs["break_glass_until"].(map[string]any)[repair]
		if has(repair) != on || (name == repair) != on || (name == "") == on || on && end != until || !on && end != "" {
			t.Errorf("until %q: the role is %v with the end %v, and the machine has it: %t", until, name, end, has(repair))
		}
	}
}

// TestEndThatIsNoTime checks that no stack is deployed with an end at which an emergency role does not end.
func TestEndThatIsNoTime(t *testing.T) {
	raw, options := render(t, stack(t)), group
	for _, until := range []string{"tomorrow", "30/11/2026", "22:00"} {
		options.Parameters = given()
		options.Parameters["untilRepair"] = until
		if _, err := cloudtest.EvaluateDeployment(raw, options); err == nil || !strings.Contains(err.Error(), until) {
			t.Errorf("until %s: %v", until, err)
		}
	}
}

// TestLongNames checks that Azure accepts the names of resources if that of the stack is as long as it may be.
func TestLongNames(t *testing.T) {
	app := stacktest.App("azure")
	app.Stack.Name, app.Stack.CustomNestedStacks[0].Name = strings.Repeat("n", 64), strings.Repeat("s", 64)
	app.Permissions[0].Name = strings.Repeat("r", 200)
	limits := map[string]int{"Microsoft.KeyVault/vaults": 24, "Microsoft.Network/virtualNetworks": 64,
		"Microsoft.Resources/deployments": 64, "Microsoft.Compute/virtualMachines": 64,
		"Microsoft.ManagedIdentity/userAssignedIdentities": 128}
	for _, r := range deploy(t, render(t, stacktest.Stack(t, app, stacktest.Facts())), given()).Resources {
		name, kind := fmt.Sprint(r["name"]), fmt.Sprint(r["type"])
		limit := cmp.Or(limits[kind], 80)
		if !strings.HasPrefix(kind, "Microsoft.Authorization/") && !strings.Contains(name, "/") && len(name) > limit {
			t.Errorf("the name of a %s has %d characters, and Azure allows %d", kind, len(name), limit)
		}
	}
}

// TestUserData checks that the machine reports what the stack's outputs are.
func TestUserData(t *testing.T) {
	d := deploy(t, render(t, stack(t)), given())
	properties := d.resource("Microsoft.Compute/virtualMachines")["properties"].(map[string]any)
	raw, err := base64.StdEncoding.DecodeString(properties["userData"].(string))
	var reported struct {
		Install string
		Version string `json:"stack_version"`
		Outputs map[string]any
	}
	if err == nil {
		err = json.Unmarshal(raw, &reported)
	}
	if diff := gocmp.Diff(d.Outputs, reported.Outputs); err != nil || diff != "" ||
		reported.Install != stacktest.InstallID || reported.Version == "" {
		t.Errorf("%v, %s%s", err, raw, diff)
	}
}

// TestBootScript checks that a shell reads the script, and that it reads what the customer entered as text.
func TestBootScript(t *testing.T) {
	d := deploy(t, render(t, stack(t)), given())
	extension := d.resource("Microsoft.Compute/virtualMachines/extensions")["properties"].(map[string]any)
	script, err := base64.StdEncoding.DecodeString(extension["protectedSettings"].(map[string]any)["script"].(string))
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), "bash", "-n")
	check.Stdin = bytes.NewReader(script)
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	head, _, _ := strings.Cut(string(script), "# Boots the machine")
	run := exec.CommandContext(t.Context(), "bash", "-c",
		head+`printf '%s\n' "$registry" "$runner_url" "$registry_secret" "$arguments"`)
	want := "acme.azurecr.io/ledger\nhttps://runners.example.com\nnuon-registry-password\n--install " +
		stacktest.InstallID + " --break-glass-role " + stacktest.InstallID + "-repair " +
		"--azure-audience api://nuon.example.com\n"
	if said, err := run.CombinedOutput(); err != nil || string(said) != want {
		t.Errorf("%v: %s", err, said)
	}
	if strings.Contains(string(script), "hunter2") {
		t.Error("the password of the registry is in the script")
	}
}

// TestTarget checks that a known subscription and region are the only ones that the parameters may have.
func TestTarget(t *testing.T) {
	facts := stacktest.Facts()
	facts.Account = map[string]map[string]string{"azure_account": {"location": "westeurope",
		"subscription_id": "00000000-0000-0000-0000-000000000001"}}
	raw := render(t, stacktest.Stack(t, stacktest.App("azure"), facts))
	options := group
	options.Subscription, options.Parameters = "00000000-0000-0000-0000-000000000001", given()
	if _, err := cloudtest.EvaluateDeployment(raw, options); err != nil {
		t.Error(err)
	}
	for parameter, other := range map[string]cloudtest.DeploymentOptions{
		"location":     {Subscription: options.Subscription, Location: "northeurope"},
		"subscription": {Subscription: "00000000-0000-0000-0000-000000000002", Location: "westeurope"},
	} {
		other.Parameters = given()
		if _, err := cloudtest.EvaluateDeployment(raw, other); err == nil ||
			!strings.Contains(err.Error(), "the parameter "+parameter+" is not one of") {
			t.Errorf("another %s: %v", parameter, err)
		}
	}
}

// TestRoleTwice checks that a role that two policies name, by its name and by its id, is assigned once.
func TestRoleTwice(t *testing.T) {
	app := stacktest.App("azure")
	app.Permissions[0].Policies = append(app.Permissions[0].Policies, format.RolePolicy{Name: "again",
		AzureBuiltInRoles: []string{"Reader", "ACDD72A7-3385-48EF-BD42-F606FBA81AE7"}})
	deploy(t, render(t, stacktest.Stack(t, app, stacktest.Facts())), given())
}

// TestFindings checks what a stack is refused for.
func TestFindings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(app *appconfig.App)
		want   string
	}{
		"an unknown role": {func(app *appconfig.App) {
			app.Permissions[0].Policies[0].AzureBuiltInRoles = []string{"Overlord"}
		}, `no built-in role "Overlord"`},
		"a boundary": {func(app *appconfig.App) {
			app.Permissions[0].PermissionsBoundary = `{"permissions": []}`
		}, "which roles on Azure cannot have"},
		"a policy of another cloud": {func(app *appconfig.App) {
			app.Permissions[0].Policies[0] = format.RolePolicy{ManagedPolicyName: "PowerUserAccess"}
		}, "policies of another cloud"},
		"a document of another cloud": {func(app *appconfig.App) {
			app.Permissions[0].Policies[0] = format.RolePolicy{Name: "own", Contents: `{"Version": "2012-10-17", "Statement": ` +
				`[{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}`}
		}, "policies of another cloud"},
		"a template without TLS": {func(app *appconfig.App) {
			app.Stack.CustomNestedStacks[0].TemplateURL = "http://templates.example.com/a.json"
		}, "which Azure cannot read"},
		"a secret with a space": {func(app *appconfig.App) { app.Secrets[0].Name = "a b" }, "is no name of a secret"},
		"secrets with one name in the vault": {func(app *appconfig.App) {
			app.Secrets = append(app.Secrets, appconfig.Secret{Name: "smtp-password"})
		}, "is the name of another secret in the key vault"},
		"an identity without a name": {func(app *appconfig.App) { app.Permissions[0].Name = "роль" },
			"is no name of an identity"},
		"too many secrets": {func(app *appconfig.App) {
			for i := range 300 {
				app.Secrets = append(app.Secrets, appconfig.Secret{Name: fmt.Sprintf("s%d", i)})
			}
		}, "Azure allows 256"},
		"too many roles": {func(app *appconfig.App) {
			for i := range 150 {
				r := app.Permissions[3]
				r.Name = fmt.Sprintf("%s-%d", r.Name, i)
				app.Permissions = append(app.Permissions, r)
			}
		}, "characters in an expression, and Azure allows 24576"},
	} {
		t.Run(name, func(t *testing.T) {
			app := stacktest.App("azure")
			c.change(app)
			raw, found := azure.Render(stacktest.Stack(t, app, stacktest.Facts()))
			if raw != nil || !strings.Contains(found.String(), c.want) {
				t.Errorf("found %s", found)
			}
		})
	}
}

// TestHostileTexts checks that no text of the config becomes an expression, and that each stays as it is.
func TestHostileTexts(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "9", "-", " ", "'", `"`, `\`, "\n", "[", "]", "[[", "')]",
		"', parameters('registryPassword'), '",
		"[parameters('registryPassword')]", "é", "\uE0F0region\uE0F1", strings.Repeat("x", 70)})
	text := rapid.Custom(func(r *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(r, "text"), "") })
	name := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	rapid.Check(t, func(r *rapid.T) {
		app, facts := stacktest.App("azure"), stacktest.Facts()
		app.BreakGlass = nil
		for i := range app.Permissions {
			app.Permissions[i].Description, app.Permissions[i].DisplayName = text.Draw(r, "about"), text.Draw(r, "label")
			app.Permissions[i].Name = fmt.Sprint("role", i) + strings.ReplaceAll(text.Draw(r, "name"), "\n", "")
			app.Permissions[i].Policies[1].AzureActions = []string{text.Draw(r, "action")}
		}
		app.Secrets[1].Description, app.Inputs[0].DisplayName = text.Draw(r, "secret"), text.Draw(r, "input")
		app.Stack.Description = text.Draw(r, "description")
		facts.Inputs["size"] = text.Draw(r, "size")
		read := installstack.Read(app, facts)
		if read.Stack == nil {
			return // a name that depends on the region
		}
		raw, findings := azure.Render(read.Stack)
		if raw == nil {
			r.Fatal(findings.Err())
		}
		entered := given()
		delete(entered, "enableRepair")
		delete(entered, "untilRepair")
		for i := range app.Permissions {
			if i < len(read.Stack.Roles) {
				entered["enable"+read.Stack.Roles[i].ID] = true
			}
		}
		d := deploy(r, raw, entered)
		if got := d.Outputs["install_inputs"].(map[string]any)["size"]; got != facts.Inputs["size"] {
			r.Fatalf("the size is %q, not %q", got, facts.Inputs["size"])
		}
		for _, found := range d.Resources {
			if found["type"] == "Microsoft.ManagedIdentity/userAssignedIdentities" &&
				(!name.MatchString(found["name"].(string)) || len(found["name"].(string)) > 128) {
				r.Fatalf("an identity is named %q", found["name"])
			}
			if actions := actionsOf(found); len(actions) == 1 && !slices.ContainsFunc(app.Permissions,
				func(p format.StandingRole) bool { return p.Policies[1].AzureActions[0] == actions[0] }) {
				r.Fatalf("a role allows %q", actions)
			}
		}
	})
}

// actionsOf returns the actions of the definition of a role.
func actionsOf(resource map[string]any) []any {
	if resource["type"] != "Microsoft.Authorization/roleDefinitions" {
		return nil
	}
	permissions := resource["properties"].(map[string]any)["permissions"].([]any)
	return permissions[0].(map[string]any)["actions"].([]any)
}
