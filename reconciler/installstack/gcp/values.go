package gcp

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// generatedLength is the length of generated secrets.
const generatedLength = 63

// raw returns tokens of an expression that is written here.
func raw(expression string) hclwrite.Tokens { return hclwrite.Tokens{{Bytes: []byte(expression)}} }

// addSecrets adds the secrets of the app: generated, or entered by the customer.
func (m *module) addSecrets() {
	outputs := []string{}
	defer func() { m.addLocal("secret_outputs", outputs) }()
	for _, s := range m.stack.Secrets {
		id := identifier(s.Name)
		name, output := "secret_"+id, m.file.Body()
		if s.CustomerManaged {
			m.addVariable(variable{name: name, kind: "string", about: s.Description + " (name of a secret that you have)"})
			output.AppendNewBlock("output", []string{id + "_arn"}).Body().SetAttributeRaw("value", raw("var."+name))
			outputs = append(outputs, id+"_arn = var."+name)
			continue
		}
		count, data := "1", "var."+name
		switch {
		case s.Generated:
			body := m.file.Body().AppendNewBlock("resource", []string{"random_password", id}).Body()
			body.SetAttributeValue("length", cty.NumberIntVal(generatedLength))
			body.SetAttributeValue("special", cty.False)
			data = "random_password." + id + ".result"
		case s.Required:
			m.addVariable(variable{name: name, kind: "string", about: s.Description, sensitive: true})
		default:
			m.addVariable(variable{name: name, kind: "string", about: s.Description, sensitive: true, value: cty.StringVal("")})
			count = "nonsensitive(var." + name + ` != "") ? 1 : 0`
		}
		resource := "google_secret_manager_secret." + id
		body := m.file.Body().AppendNewBlock("resource", []string{"google_secret_manager_secret", id}).Body()
		body.SetAttributeRaw("count", raw(count))
		body.SetAttributeValue("secret_id", cty.StringVal(m.stack.Install.ID+"-"+s.Name))
		body.SetAttributeRaw("labels", raw("local.labels"))
		body.AppendNewBlock("replication", nil).Body().AppendNewBlock("auto", nil)
		body.SetAttributeRaw("depends_on", raw("[google_project_service.this]"))
		body = m.file.Body().AppendNewBlock("resource", []string{"google_secret_manager_secret_version", id}).Body()
		body.SetAttributeRaw("count", raw(count))
		body.SetAttributeRaw("secret", raw(resource+"[0].id"))
		body.SetAttributeRaw("secret_data", raw(data))
		body.AppendNewBlock("lifecycle", nil).Body().SetAttributeRaw("ignore_changes", raw("[secret_data]"))
		m.addReader(id, resource, count)
		output.AppendNewBlock("output", []string{id + "_arn"}).Body().SetAttributeRaw("value",
			raw("one("+resource+"[*].id)"))
		outputs = append(outputs, id+"_arn = one("+resource+"[*].id)")
	}
}

// addReader permits the runner to read the values and the versions of a secret.
func (m *module) addReader(id, secret, count string) {
	for _, role := range []string{"secretAccessor", "viewer"} {
		body := m.file.Body().AppendNewBlock("resource",
			[]string{"google_secret_manager_secret_iam_member", "secret_" + id + "_" + strings.ToLower(role)}).Body()
		body.SetAttributeRaw("count", raw(count))
		body.SetAttributeRaw("secret_id", raw(secret+"[0].id"))
		body.SetAttributeValue("role", cty.StringVal("roles/secretmanager."+role))
		body.SetAttributeRaw("member", raw("\"serviceAccount:${google_service_account.runner.email}\""))
	}
}

// addInputs adds the inputs that the customer sets, and returns them as an output.
func (m *module) addInputs() {
	values := []string{}
	for _, group := range m.stack.Inputs {
		for _, in := range group.Inputs {
			v := variable{name: "input_" + identifier(in.Name), kind: "string", about: in.DisplayName + ". " + in.Description}
			switch {
			case in.Value != nil:
				v.value = cty.StringVal(*in.Value)
			case !in.Required:
				v.value = cty.StringVal("")
			}
			m.addVariable(v)
			values = append(values, string(hclwrite.TokensForValue(cty.StringVal(in.Name)).Bytes())+" = var."+v.name)
		}
	}
	m.addLocal("install_inputs", values)
	m.file.Body().AppendNewBlock("output", []string{"install_inputs"}).Body().SetAttributeRaw("value",
		raw("local.install_inputs"))
}

// addLocal adds a local value, an object with the given attributes.
func (m *module) addLocal(name string, attributes []string) {
	m.file.Body().AppendNewBlock("locals", nil).Body().SetAttributeRaw(name,
		raw("{\n"+strings.Join(attributes, "\n")+"\n}"))
}

// identifier returns a name for a block of Terraform.
func identifier(name string) string { return installstack.Fit(name, 100, installstack.IsWord) }
