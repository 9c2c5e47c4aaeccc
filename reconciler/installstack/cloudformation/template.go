// Package cloudformation renders an install stack as a CloudFormation template in JSON. The same stack always gives the
// same bytes. It uses no transforms, no Fn::Sub and no dynamic references.
package cloudformation

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// FileName is the name of the template.
const FileName = "template.json"

// Limits of CloudFormation and IAM.
const (
	maxBytes      = 1_000_000
	maxResources  = 500
	maxParameters = 200
	maxOutputs    = 200
	maxInline     = 10_240 // all inline policies of a role, without spaces
	maxManaged    = 6_144  // one managed policy, without spaces
	maxAttached   = 20     // managed policies of a role, at most; 10 without a raised quota
	usualAttached = 10
	maxUserData   = 16_384
)

// MaxInlineBytes is the size of a template that can be sent without a bucket.
const MaxInlineBytes = 51_200

// template is a template that is being built.
type template struct {
	stack                                    *installstack.Stack
	parameters, rules, conditions, resources object
	outputs                                  []output
	groups                                   list
	labels                                   object
	findings                                 diagnostic.Diagnostics
}

// Render returns the template of a stack. It is nil if a finding is an error.
func Render(stack *installstack.Stack) ([]byte, diagnostic.Diagnostics) {
	t, raw := build(stack)
	if t.findings.HasErrors() {
		return nil, t.findings
	}
	return raw, t.findings
}

// build builds the template of a stack.
func build(stack *installstack.Stack) (t *template, raw []byte) {
	t = &template{stack: stack, parameters: object{}, rules: object{}, conditions: object{}, resources: object{},
		labels: object{}}
	t.addTarget()
	t.addNetwork()
	t.addRunner()
	t.addRoles()
	t.addSecrets()
	t.addInputs()
	t.addNested()
	t.addPhoneHome()
	raw = t.encode()
	t.checkSize(raw)
	return t, raw
}

// encode writes the template: small enough to send without a bucket, and easy to compare.
func (t *template) encode() []byte {
	sections := object{
		"Metadata": object{
			"AWS::CloudFormation::Interface": object{"ParameterGroups": t.groups, "ParameterLabels": t.labels},
			"Nuon":                           object{"Install": t.stack.Install.ID, "App": t.stack.Install.AppID},
		},
		"Parameters": t.parameters, "Rules": t.rules, "Conditions": t.conditions, "Resources": t.resources,
		"Outputs": t.encodeOutputs(),
	}
	var out bytes.Buffer
	out.WriteString("{\n\"AWSTemplateFormatVersion\": \"2010-09-09\",\n\"Description\": ")
	installstack.WriteJSON(&out, t.stack.Description)
	for _, name := range []string{"Metadata", "Parameters", "Rules", "Conditions", "Resources", "Outputs"} {
		if section := sections[name].(object); len(section) > 0 {
			installstack.WriteSection(&out, name, section, slices.Sorted(maps.Keys(section)))
		}
	}
	out.WriteString("\n}\n")
	return out.Bytes()
}

func (t *template) errorf(where, hint, message string, a ...any) {
	t.report(diagnostic.Error, where, hint, message, a...)
}

func (t *template) report(severity diagnostic.Severity, where, hint, message string, a ...any) {
	t.findings = append(t.findings, diagnostic.Diagnostic{File: where, Line: 1, Column: 1, Severity: severity,
		Rule: "stack-limit", Message: fmt.Sprintf(message, a...), Hint: hint})
}

// checkSize compares the template with the limits of CloudFormation.
func (t *template) checkSize(raw []byte) {
	for _, limit := range []struct {
		what, hint  string
		count, most int
	}{
		{"parameters", "reduce the number of inputs, secrets and roles that the customer sets", len(t.parameters),
			maxParameters},
		{"resources", "reduce the number of roles and secrets", len(t.resources), maxResources},
		{"outputs", "reduce the number of roles, secrets and inputs that the customer sets", len(t.outputs), maxOutputs},
		{"bytes", "shorten the policies of roles", len(raw), maxBytes},
	} {
		if limit.count > limit.most {
			t.errorf("stack", limit.hint, "the template has %d %s, and CloudFormation allows %d", limit.count, limit.what,
				limit.most)
		}
	}
	if bytes.Contains(raw, []byte("{{resolve:")) {
		t.errorf("stack", "remove it", "a text contains a dynamic reference, which CloudFormation would replace with a "+
			"secret")
	}
}

// addGroup adds a group of parameters, as the console shows it.
func (t *template) addGroup(label string, ids []string) {
	names := make(list, len(ids))
	for i, id := range ids {
		names[i] = id
	}
	if len(ids) > 0 {
		t.groups = append(t.groups, object{"Label": object{"default": label}, "Parameters": names})
	}
}

// addParameter adds a parameter with its label, and returns its name.
func (t *template) addParameter(id, label, description string, properties object) string {
	p := object{"Type": "String", "Description": description}
	maps.Copy(p, properties)
	if p["Description"] == "" {
		delete(p, "Description")
	}
	t.parameters[id] = p
	t.labels[id] = object{"default": label}
	return id
}

// addResource adds a resource with its properties.
func (t *template) addResource(id, kind string, properties object) object {
	r := object{"Type": kind, "Properties": properties}
	t.resources[id] = r
	return r
}

// tags are the tags of everything that the stack creates, with more of them as pairs.
func (t *template) tags(more ...string) list {
	i := t.stack.Install
	pairs := append([]string{"install.nuon.co/id", i.ID, "app.nuon.co/id", i.AppID, "org.nuon.co/id", i.OrgID}, more...)
	var all list
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			all = append(all, object{"Key": pair[0], "Value": pair[1]})
		}
	}
	return all
}

// addTarget adds rules that fail before any resource is created in another account or region.
func (t *template) addTarget() {
	add := func(name, parameter, want string) {
		if want == "" {
			return
		}
		t.rules["Target"+name] = object{"Assertions": list{object{
			"Assert": equals(ref(parameter), want),
			"AssertDescription": fmt.Sprintf("This stack is for the %s %s. Create it there, or ask the vendor for another one.",
				strings.ToLower(name), want),
		}}}
	}
	add("Account", "AWS::AccountId", t.stack.Account)
	add("Region", "AWS::Region", t.stack.Region)
	t.addOutput("account_id", ref("AWS::AccountId"), "")
	t.addOutput("region", ref("AWS::Region"), "")
}

// addInputs adds the inputs that the customer sets.
func (t *template) addInputs() {
	for _, group := range t.stack.Inputs {
		var names []string
		for _, in := range group.Inputs {
			id := t.addParameter("Input"+in.ID, in.DisplayName, in.Description, inputProperties(in))
			names = append(names, id)
			var value any = ref(id)
			if t.parameters[id].(object)["Type"] == "CommaDelimitedList" {
				value = object{"Fn::Join": list{",", ref(id)}}
			}
			t.addOutput("install_inputs."+in.Name, value, "")
		}
		t.addGroup("Install inputs: "+group.Label, names)
	}
}

func inputProperties(in installstack.Input) object {
	p := object{}
	switch in.Type {
	case "number":
		p["Type"] = "Number"
	case "list":
		p["Type"] = "CommaDelimitedList"
	case "bool":
		p["AllowedValues"] = list{"true", "false"}
	}
	switch {
	case in.Value != nil && *in.Value != "" && in.Check(*in.Value) == "":
		p["Default"] = *in.Value
	case in.Required && p["Type"] == nil && p["AllowedValues"] == nil:
		p["MinLength"] = 1
	case !in.Required && p["Type"] == "Number": // a number cannot be left empty
		delete(p, "Type")
		p["Default"] = ""
	case !in.Required && p["AllowedValues"] != nil:
		p["AllowedValues"], p["Default"] = list{"", "true", "false"}, ""
	case !in.Required:
		p["Default"] = ""
	}
	return p
}

// addNested adds the vendor's own templates, one after the other.
func (t *template) addNested() {
	before := "RunnerGroup"
	for _, n := range t.stack.Nested {
		id := "Nested" + n.ID
		properties := object{"TemplateURL": text(n.URL), "Tags": t.tags()}
		if len(n.Parameters) > 0 {
			parameters := object{}
			for name, value := range n.Parameters {
				parameters[name] = text(value)
			}
			properties["Parameters"] = parameters
		}
		t.addResource(id, "AWS::CloudFormation::Stack", properties)["DependsOn"] = list{before}
		before = id
		for _, path := range n.Outputs {
			name := path[strings.LastIndex(path, ".")+1:]
			t.addOutput("custom_nested_stacks."+n.Name+"."+path, attribute(id, "Outputs."+name), "")
		}
	}
}
