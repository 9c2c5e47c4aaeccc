package cloud

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/azure"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// deployed is the resource of the module for Azure.
const deployed = "azurerm_resource_group_template_deployment"

// TestAzureStackModule applies the Terraform module of a stack with real Terraform, which knows the arguments of the
// provider. Azure gets what the customer enters, the same generated secrets at each apply, and the runs show none.
func TestAzureStackModule(t *testing.T) {
	facts := stacktest.Facts()
	facts.Account = map[string]map[string]string{"azure_account": {
		"subscription_id": "00000000-0000-0000-0000-00000000000a"}}
	raw, module, findings := azure.RenderModule(stacktest.Stack(t, stacktest.App("azure"), facts))
	if module == nil {
		t.Fatal(findings.Err())
	}
	values := map[string]any{"registry": "acme.azurecr.io/ledger", "registryPassword": "it's $(id) ${hunter2}",
		"sshPublicKey": "k", "inputDomain": "a'b\n%{if}", "secretLicense": "hunter3", "enableDeprovision": false,
		"secretWildcardUri": "https://v.vault.azure.net/secrets/w"}
	entered := map[string]any{"resource_group_name": "rg"}
	for name, value := range values {
		entered[name] = value
	}
	sent, err := json.Marshal(entered)
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOf(t, fstest.MapFS{installstack.ModuleName: {Data: module}, azure.FileName: {Data: raw},
		"terraform.tfvars.json": {Data: sent}})
	r.terraform("validate")
	said := r.terraform("apply", "-auto-approve")
	first, id := r.parameters(t)
	generated, _ := first["secretSessionKeyRandom"].(string)
	if len(generated) < 32 {
		t.Errorf("the generated secret is %q", generated)
	}
	values["secretSessionKeyRandom"], values["subscription"] = generated, "00000000-0000-0000-0000-00000000000a"
	if d := cmp.Diff(values, first); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(id, "/subscriptions/00000000-0000-0000-0000-00000000000a/resourceGroups/rg/") {
		t.Errorf("it is in %s", id)
	}

	// Azure never returns secrets, so each apply deploys again.
	r.must(r.cloud.Drift(r.ctx, deployed, id, "parameters_content", "{}"))
	said += r.terraform("apply", "-auto-approve")
	again, _ := r.parameters(t)
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("the second apply changes parameters: %s", d)
	}
	said += r.terraform("destroy", "-auto-approve")
	for _, secret := range []string{"hunter2", "hunter3", generated} {
		if strings.Contains(said, secret) {
			t.Errorf("Terraform shows %q", secret)
		}
	}
}

// parameters returns the parameters of the only deployment, and its id.
func (r *rig) parameters(t *testing.T) (map[string]any, string) {
	t.Helper()
	objects, err := r.cloud.Objects(r.ctx)
	r.must(err)
	for _, o := range objects {
		if o.Type != deployed {
			continue
		}
		var sent map[string]struct{ Value any }
		r.must(json.Unmarshal([]byte(o.Attributes["parameters_content"].(string)), &sent))
		values := map[string]any{}
		for name, p := range sent {
			values[name] = p.Value
		}
		return values, o.ID
	}
	t.Fatal("there is no deployment")
	return nil, ""
}
