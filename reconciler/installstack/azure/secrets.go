package azure

import (
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// vaultName returns the name of the key vault: the beginning of the install's id, as existing apps expect.
func (t *template) vaultName() string {
	name := strings.ReplaceAll(t.stack.Install.ID, "_", "-")
	return strings.TrimRight(name[:min(len(name), maxVaultName)], "-")
}

// vaultID returns the id of the key vault.
func (t *template) vaultID() expression {
	return resourceID("Microsoft.KeyVault/vaults", quoted(t.vaultName()))
}

// addVault adds the vault for the secrets of the customer. Azure keeps a deleted vault for a week, in which its name is
// taken.
func (t *template) addVault() {
	t.addResource("Microsoft.KeyVault/vaults", vaultAPI, t.vaultName(), t.located(object{"properties": object{
		"tenantId": expression("subscription().tenantId"), "sku": object{"family": "A", "name": "standard"},
		"enableRbacAuthorization": true, "enableSoftDelete": true, "softDeleteRetentionInDays": 7,
		"enabledForDeployment": false, "enabledForTemplateDeployment": false, "enabledForDiskEncryption": false,
	}}))
	t.addOutput("key_vault_id", "string", t.vaultID())
	t.addOutput("key_vault_name", "string", quoted(t.vaultName()))
}

// secretNames replaces the characters that names of secrets in a vault cannot have, as package secretstore/azure does.
var secretNames = strings.NewReplacer("_", "-", ".", "--")

// addSecret adds a secret to the vault; condition is empty if the vault always has it.
func (t *template) addSecret(name string, value, condition expression) {
	secret := object{"dependsOn": list{t.vaultID()}, "properties": object{"value": value}}
	if condition != "" {
		secret["condition"] = condition
	}
	t.addResource("Microsoft.KeyVault/vaults/secrets", vaultAPI, t.vaultName()+"/"+name, secret)
}

// addSecrets adds the secrets of the app: generated, or entered by the customer.
func (t *template) addSecrets() {
	taken := map[string]bool{}
	for _, s := range t.stack.Secrets {
		output, id := installstack.Fit(s.Name, 80, installstack.IsWord)+"_arn", "secret"+s.ID
		about := strings.TrimSpace(s.Label + ". " + s.Description)
		if s.CustomerManaged {
			t.addOutput(output, "string", t.addParameter(id+"Uri", about+" (URI of a secret that you have)",
				object{"minLength": 1}))
			continue
		}
		name := secretNames.Replace(t.stack.Install.ID + "-" + s.Name)
		if len(name) > maxSecretName || strings.ContainsFunc(name, func(r rune) bool { return !isName(r) }) {
			t.errorf("secrets.toml: "+s.Name, "rename it", "%.160q is no name of a secret in a key vault: at most %d letters, "+
				"digits and -", name, maxSecretName)
			continue
		}
		if taken[strings.ToLower(name)] {
			t.errorf("secrets.toml: "+s.Name, "rename it", "%.160q is the name of another secret in the key vault", name)
		}
		taken[strings.ToLower(name)] = true
		uri := t.secretURI(name)
		switch {
		case s.Generated:
			if t.parameters[generateSecrets] == nil {
				t.addParameter(generateSecrets, "Whether to generate secrets. Choose false when you update the stack: the "+
					"secrets keep their values, and new ones are not created.", object{"type": "bool", "defaultValue": true})
			}
			random := t.addParameter(id+"Random", about+" (generated; leave it as it is)",
				object{"type": "securestring", "defaultValue": newGUID})
			t.addSecret(name, call("replace", random, quoted("-"), quoted("")), parameter(generateSecrets))
		case s.Required:
			t.addSecret(name, t.addParameter(id, about, object{"type": "securestring", "minLength": 1}), "")
		default:
			given := t.addParameter(id, about, object{"type": "securestring", "defaultValue": ""})
			has := call("not", call("empty", given))
			t.addSecret(name, given, has)
			uri = call("if", has, uri, quoted(""))
		}
		t.addOutput(output, "string", uri)
	}
}

// generateSecrets is the name of the parameter by which an update leaves generated secrets alone.
const generateSecrets = "generateSecrets"

// newGUID is the default of a generated secret, which is new at each deployment.
const newGUID = expression("newGuid()")

// secretURI returns the address of a secret.
func (t *template) secretURI(name string) expression {
	return call("concat", reference(t.vaultID(), vaultAPI, "vaultUri"), quoted("secrets/"+name))
}
