package cloudformation

import (
	_ "embed"
	"maps"
	"slices"

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
	var parameters []installstack.Variable
	for _, name := range slices.Sorted(maps.Keys(t.parameters)) {
		parameters = append(parameters, t.variable(name))
	}
	resources := moduleSmall
	if len(raw) > MaxInlineBytes {
		resources = moduleLarge
	}
	return raw, installstack.EncodeModule(stack, parameters, moduleHead, resources), t.findings
}

// variable returns the variable for a parameter of the template. CloudFormation takes all values as texts.
func (t *template) variable(name string) installstack.Variable {
	p := t.parameters[name].(object)
	v := installstack.Variable{Name: name, Type: "string", Sensitive: p["NoEcho"] == true}
	v.Description, _ = t.labels[name].(object)["default"].(string)
	if description, _ := p["Description"].(string); description != "" {
		v.Description += ": " + description
	}
	if value, has := p["Default"].(string); has {
		v.Default = cty.StringVal(value)
	}
	return v
}
