package cloudformation

import (
	"bytes"
	_ "embed"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// What the module has for every install: small and large are the resources for templates that can and cannot be sent
// without a bucket.
var (
	//go:embed module.tf
	moduleHead string
	//go:embed module_small.tf
	moduleSmall string
	//go:embed module_large.tf
	moduleLarge string
)

// RenderModule returns the template of a stack, and the Terraform module that creates the stack from it. Both are
// nil if a finding is an error.
func RenderModule(stack *installstack.Stack) (raw, module []byte, findings diagnostic.Diagnostics) {
	t, raw := build(stack)
	if t.findings.HasErrors() {
		return nil, nil, t.findings
	}
	file := hclwrite.NewEmptyFile()
	locals := file.Body().AppendNewBlock("locals", nil).Body()
	locals.SetAttributeValue("name", cty.StringVal(stack.Name))
	names := slices.Sorted(maps.Keys(t.parameters))
	var parameters []hclwrite.ObjectAttrTokens
	for _, name := range names {
		parameters = append(parameters, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(name),
			Value: hclwrite.TokensForIdentifier("var." + name)})
	}
	locals.SetAttributeRaw("parameters", hclwrite.TokensForObject(parameters))
	for _, name := range names {
		t.addVariable(file.Body(), name)
	}
	resources := moduleSmall
	if len(raw) > MaxInlineBytes {
		resources = moduleLarge
	}
	return raw, hclwrite.Format(bytes.Join([][]byte{[]byte(moduleHead), []byte(resources), file.Bytes()}, []byte("\n"))),
		t.findings
}

// addVariable adds the variable for a parameter of the template. CloudFormation takes all values as texts.
func (t *template) addVariable(module *hclwrite.Body, name string) {
	module.AppendNewline()
	p := t.parameters[name].(object)
	body := module.AppendNewBlock("variable", []string{name}).Body()
	body.SetAttributeRaw("type", hclwrite.TokensForIdentifier("string"))
	about, _ := t.labels[name].(object)["default"].(string)
	if description, _ := p["Description"].(string); description != "" {
		about += ": " + description
	}
	body.SetAttributeValue("description", cty.StringVal(about))
	if value, has := p["Default"].(string); has {
		body.SetAttributeValue("default", cty.StringVal(value))
	}
	if p["NoEcho"] == true {
		body.SetAttributeValue("sensitive", cty.True)
	}
}
