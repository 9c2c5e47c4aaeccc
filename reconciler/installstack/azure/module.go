package azure

import (
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

// RenderModule returns the template of a stack, and the Terraform module that deploys it. Both are nil if a finding is
// an error.
func RenderModule(stack *installstack.Stack) (raw, module []byte, findings diagnostic.Diagnostics) {
	t, raw := build(stack)
	if t.findings.HasErrors() {
		return nil, nil, t.findings
	}
	var parameters []installstack.Variable
	generated := []cty.Value{}
	for _, name := range t.order {
		parameters = append(parameters, t.variable(name))
		if t.parameters[name].(object)["defaultValue"] == newGUID {
			generated = append(generated, cty.StringVal(name))
		}
	}
	file := hclwrite.NewEmptyFile()
	file.Body().AppendNewBlock("locals", nil).Body().SetAttributeRaw("generated",
		hclwrite.TokensForFunctionCall("toset", hclwrite.TokensForValue(cty.TupleVal(generated))))
	return raw, installstack.EncodeModule(stack, parameters, moduleHead, string(file.Bytes())), t.findings
}

// variable returns the variable for a parameter of the template. Its default is null where the template has one, which
// can be an expression: what the customer does not set is not passed on. Only the subscription is set, because the
// provider needs it.
func (t *template) variable(name string) installstack.Variable {
	p := t.parameters[name].(object)
	v := installstack.Variable{Name: name, Type: "string", Sensitive: p["type"] == "securestring"}
	if p["type"] == "bool" {
		v.Type = "bool"
	}
	metadata, _ := p["metadata"].(object)
	v.Description, _ = metadata["description"].(string)
	if _, has := p["defaultValue"]; has {
		v.Default = cty.NullVal(cty.DynamicPseudoType)
	}
	if name == subscription && t.stack.Account != "" {
		v.Default = cty.StringVal(t.stack.Account)
	}
	return v
}
