package azure

import (
	"bytes"
	_ "embed"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// moduleHead is what the module has for every install.
//
//go:embed module.tf
var moduleHead string

// moduleContent encodes the variables that have a value as Azure takes them. A parameter without a value has the
// default of the template, which can be an expression.
const moduleContent = "jsonencode({ for name, value in local.parameters : name => { value = value } " +
	"if value != null })"

// RenderModule returns the template of a stack, and the Terraform module that deploys it. Both are nil if a finding is
// an error.
func RenderModule(stack *installstack.Stack) (raw, module []byte, findings diagnostic.Diagnostics) {
	t, raw := build(stack)
	if t.findings.HasErrors() {
		return nil, nil, t.findings
	}
	file := hclwrite.NewEmptyFile()
	locals := file.Body().AppendNewBlock("locals", nil).Body()
	locals.SetAttributeValue("name", cty.StringVal(stack.Name))
	locals.SetAttributeRaw("content", hclwrite.Tokens{{Bytes: []byte(moduleContent)}})
	var parameters []hclwrite.ObjectAttrTokens
	for _, name := range t.order {
		parameters = append(parameters, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(name),
			Value: hclwrite.TokensForIdentifier("var." + name)})
	}
	locals.SetAttributeRaw("parameters", hclwrite.TokensForObject(parameters))
	for _, name := range t.order {
		t.addVariable(file.Body(), name)
	}
	return raw, hclwrite.Format(bytes.Join([][]byte{[]byte(moduleHead), file.Bytes()}, []byte("\n"))), t.findings
}

// addVariable adds the variable for a parameter of the template.
func (t *template) addVariable(module *hclwrite.Body, name string) {
	module.AppendNewline()
	p := t.parameters[name].(object)
	kind, secret := "string", false
	switch p["type"] {
	case "bool":
		kind = "bool"
	case "securestring":
		secret = true
	}
	body := module.AppendNewBlock("variable", []string{name}).Body()
	body.SetAttributeRaw("type", hclwrite.TokensForIdentifier(kind))
	metadata, _ := p["metadata"].(object)
	about, _ := metadata["description"].(string)
	body.SetAttributeValue("description", cty.StringVal(about))
	if _, has := p["defaultValue"]; has {
		body.SetAttributeValue("default", cty.NullVal(cty.DynamicPseudoType))
	}
	if secret {
		body.SetAttributeValue("sensitive", cty.True)
	}
}
