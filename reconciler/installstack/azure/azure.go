// Package azure renders an install stack as a template of Azure Resource Manager in JSON, for a resource group. The
// same stack always gives the same bytes. No offline validator of such templates exists: the tests check references,
// names and limits.
package azure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// FileName is the name of the template.
const FileName = "azuredeploy.json"

// Limits of Azure Resource Manager.
// Source: learn.microsoft.com/azure/azure-resource-manager/templates/best-practices.
const (
	maxBytes      = 4 << 20
	maxParameters = 256
	maxVariables  = 256
	maxResources  = 800
	maxOutputs    = 64
	maxExpression = 24_576
)

// Limits of texts and names.
const (
	maxDescription = 512
	maxVaultName   = 24
	maxSecretName  = 127
	maxName        = 60 // of resources, with room for the suffixes below
	maxShortName   = 64 // of networks and deployments

	minIdentityName = 3
)

// Versions of the APIs that the template uses.
const (
	computeAPI    = "2024-07-01"
	diskAPI       = "2024-03-02"
	networkAPI    = "2024-05-01"
	vaultAPI      = "2023-07-01"
	identityAPI   = "2023-01-31"
	roleAPI       = "2022-04-01"
	deploymentAPI = "2024-03-01"
)

// template is a template that is being built.
type template struct {
	stack                          *installstack.Stack
	parameters, variables, outputs object
	order                          []string // of the parameters
	resources                      list
	reported                       map[string]expression // what the runner reports, by output
	findings                       diagnostic.Diagnostics
}

// Render returns the template of a stack. It is nil if a finding is an error.
func Render(stack *installstack.Stack) ([]byte, diagnostic.Diagnostics) {
	t, raw := build(stack)
	if t.findings.HasErrors() {
		return nil, t.findings
	}
	return raw, t.findings
}

// build makes the template and encodes it. Both are of no use if a finding is an error.
func build(stack *installstack.Stack) (*template, []byte) {
	t := &template{stack: stack, parameters: object{}, variables: object{}, outputs: object{},
		reported: map[string]expression{}}
	t.addTarget()
	t.addNetwork()
	t.addVault()
	t.addRoles()
	t.addSecrets()
	t.addInputs()
	t.addNested()
	t.addRunner()
	raw := t.encode()
	t.checkSize(raw)
	return t, raw
}

// encode writes the template with one line for each entry of a section, which is easy to compare.
func (t *template) encode() []byte {
	var out bytes.Buffer
	out.WriteString("{\n\"$schema\": " +
		"\"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#\",\n" +
		"\"contentVersion\": \"1.0.0.0\",\n\"metadata\": ")
	installstack.WriteJSON(&out, object{"description": literal(t.stack.Description), "install": t.stack.Install.ID,
		"app": t.stack.Install.AppID})
	installstack.WriteSection(&out, "parameters", t.parameters, t.order)
	installstack.WriteSection(&out, "variables", t.variables, slices.Sorted(maps.Keys(t.variables)))
	out.WriteString(",\n\"resources\": [")
	for i, r := range t.resources {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n ")
		installstack.WriteJSON(&out, r)
	}
	out.WriteString("\n]")
	installstack.WriteSection(&out, "outputs", t.outputs, slices.Sorted(maps.Keys(t.outputs)))
	out.WriteString("\n}\n")
	return out.Bytes()
}

func (t *template) errorf(where, hint, message string, a ...any) {
	t.findings = append(t.findings, diagnostic.Diagnostic{File: where, Line: 1, Column: 1, Severity: diagnostic.Error,
		Rule: "stack-limit", Message: fmt.Sprintf(message, a...), Hint: hint})
}

// checkSize compares the template with the limits of Azure.
func (t *template) checkSize(raw []byte) {
	for _, limit := range []struct {
		what, hint string
		count, max int
	}{
		{"parameters", "have fewer inputs, secrets and roles that the customer sets", len(t.parameters), maxParameters},
		{"variables", "have fewer roles", len(t.variables), maxVariables},
		{"resources", "have fewer roles and secrets", len(t.resources), maxResources},
		{"outputs", "have fewer secrets", len(t.outputs), maxOutputs},
		{"bytes", "shorten descriptions", len(raw), maxBytes},
		{"characters in an expression", "have fewer inputs, secrets and roles", longestExpression(raw), maxExpression},
	} {
		if limit.count > limit.max {
			t.errorf("stack", limit.hint, "the template has %d %s, and Azure allows %d", limit.count, limit.what, limit.max)
		}
	}
}

// longestExpression returns the length of the longest expression of a template.
func longestExpression(raw []byte) int {
	longest := 0
	decoder := json.NewDecoder(bytes.NewReader(raw))
	for token, err := decoder.Token(); err == nil; token, err = decoder.Token() {
		if text, is := token.(string); is && strings.HasPrefix(text, "[") {
			longest = max(longest, len(text))
		}
	}
	return longest
}

// addParameter adds a parameter with its description.
func (t *template) addParameter(name, description string, properties object) expression {
	if description = installstack.Plain(description, maxDescription); description != "" {
		properties["metadata"] = object{"description": literal(description)}
	}
	if _, set := properties["type"]; !set {
		properties["type"] = "string"
	}
	t.parameters[name] = properties
	t.order = append(t.order, name)
	return parameter(name)
}

// addResource adds a resource. Its name is an expression or a text.
func (t *template) addResource(kind, version string, name any, properties object) object {
	properties["type"], properties["apiVersion"], properties["name"] = kind, version, name
	t.resources = append(t.resources, properties)
	return properties
}

// located adds the place and the tags of the install to a resource.
func (t *template) located(properties object) object {
	i := t.stack.Install
	properties["location"] = parameter("location")
	properties["tags"] = object{"install.nuon.co-id": i.ID, "app.nuon.co-id": i.AppID, "org.nuon.co-id": i.OrgID}
	return properties
}

// addOutput adds an output, which the runner also reports to the control plane.
func (t *template) addOutput(name, kind string, value expression) {
	t.outputs[name] = object{"type": kind, "value": value}
	t.reported[name] = value
}

// name returns the name of a resource of the stack.
func (t *template) name(suffix string) string {
	return installstack.Fit(t.stack.Name, maxName, isName) + suffix
}

// shortName returns the name of a network or deployment of the stack.
func (t *template) shortName(suffix string) string {
	return installstack.Fit(t.name(suffix), maxShortName, isName)
}

func isName(r rune) bool { return installstack.IsWord(r) && r != '_' || r == '-' }

// subscription is the name of the parameter that pins the subscription.
const subscription = "subscription"

// addTarget adds the parameters that pin the subscription and the region: Azure compares the default of a parameter
// with the values that it may have before it creates anything.
func (t *template) addTarget() {
	location := object{"defaultValue": expression("resourceGroup().location")}
	if t.stack.Region != "" {
		location["allowedValues"] = list{t.stack.Region}
	}
	t.addParameter("location", "Region of the install. Leave it as it is.", location)
	account := object{"defaultValue": expression("subscription().subscriptionId")}
	if t.stack.Account != "" {
		account["allowedValues"] = list{t.stack.Account}
	}
	t.addParameter(subscription, "Subscription of the install. Leave it as it is: a deployment into another one fails.",
		account)
	t.addOutput("subscription_id", "string", "subscription().subscriptionId")
	t.addOutput("subscription_tenant_id", "string", "subscription().tenantId")
	t.addOutput("resource_group_id", "string", "resourceGroup().id")
	t.addOutput("resource_group_name", "string", "resourceGroup().name")
	t.addOutput("resource_group_location", "string", "resourceGroup().location")
}

// addInputs adds the inputs that the customer sets, and returns them as an output.
func (t *template) addInputs() {
	var names []string
	values := map[string]expression{}
	for _, group := range t.stack.Inputs {
		for _, in := range group.Inputs {
			properties := object{}
			switch {
			case in.Value != nil:
				properties["defaultValue"] = literal(*in.Value)
			case !in.Required:
				properties["defaultValue"] = ""
			default:
				properties["minLength"] = 1
			}
			about := strings.TrimSpace(group.Label + ": " + in.DisplayName + ". " + in.Description)
			names = append(names, in.Name)
			values[in.Name] = t.addParameter("input"+in.ID, about, properties)
		}
	}
	t.addOutput("install_inputs", "object", encodeObject(names, values))
}

// addNested adds the vendor's own templates, one after the other.
func (t *template) addNested() {
	var names []string
	values, previous := map[string]expression{}, expression("")
	for _, n := range t.stack.Nested {
		if !strings.HasPrefix(n.URL, "https://") {
			t.errorf("stack.toml", "publish the template at an address that starts with https://",
				"the template of the nested stack %.60q is at %.80q, which Azure cannot read", n.Name, n.URL)
		}
		parameters := object{}
		for name, value := range n.Parameters {
			parameters[name] = object{"value": withPlaceholders(value)}
		}
		name := t.shortName("-" + strings.ToLower(n.ID))
		deployment := t.addResource("Microsoft.Resources/deployments", deploymentAPI, name, object{"properties": object{
			"mode": "Incremental", "templateLink": object{"uri": literal(n.URL)}, "parameters": parameters}})
		if previous != "" {
			deployment["dependsOn"] = list{previous}
		}
		previous = resourceID("Microsoft.Resources/deployments", quoted(name))
		outputs := map[string]expression{}
		for _, output := range n.Outputs {
			key := strings.TrimPrefix(output, "outputs.")
			outputs[key] = reference(previous, deploymentAPI, "outputs."+key+".value")
		}
		keys := slices.Sorted(maps.Keys(outputs))
		names = append(names, n.Name)
		values[n.Name] = encodeObject([]string{"outputs"}, map[string]expression{"outputs": encodeObject(keys, outputs)})
	}
	if len(names) > 0 {
		t.addOutput("custom_nested_stacks", "object", encodeObject(names, values))
	}
}
