package installstack

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// ModuleName is the name of the file that makes a Terraform module of the template beside it.
const ModuleName = "main.tf"

// Variable is a variable of a Terraform module.
type Variable struct {
	Name, Type  string
	Description string    // empty for none
	Default     cty.Value // cty.NilVal for none, so that a value is required
	Sensitive   bool
}

// AddVariable adds a variable to a file of Terraform, and returns its block.
func AddVariable(file *hclwrite.Body, v Variable) *hclwrite.Body {
	body := file.AppendNewBlock("variable", []string{v.Name}).Body()
	body.SetAttributeRaw("type", hclwrite.TokensForIdentifier(v.Type))
	if v.Description != "" {
		body.SetAttributeValue("description", cty.StringVal(v.Description))
	}
	if v.Default != cty.NilVal {
		body.SetAttributeValue("default", v.Default)
	}
	if v.Sensitive {
		body.SetAttributeValue("sensitive", cty.True)
	}
	return body
}

// EncodeModule returns the file of a Terraform module that deploys the template of a stack. static is what the module
// has for every install; it reads the name of the stack and the parameters as locals. Each parameter is a variable.
func EncodeModule(stack *Stack, parameters []Variable, static ...string) []byte {
	file := hclwrite.NewEmptyFile()
	locals := file.Body().AppendNewBlock("locals", nil).Body()
	locals.SetAttributeValue("name", cty.StringVal(stack.Name))
	var values []hclwrite.ObjectAttrTokens
	for _, p := range parameters {
		values = append(values, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(p.Name),
			Value: hclwrite.TokensForIdentifier("var." + p.Name)})
	}
	locals.SetAttributeRaw("parameters", hclwrite.TokensForObject(values))
	for _, p := range parameters {
		file.Body().AppendNewline()
		AddVariable(file.Body(), p)
	}
	return hclwrite.Format(bytes.Join([][]byte{[]byte(strings.Join(static, "\n")), file.Bytes()}, []byte("\n")))
}
