package cloudtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// DeploymentOptions are where a customer deploys a template of Azure Resource Manager, and what the customer enters.
type DeploymentOptions struct {
	Tenant, Subscription, Group, Location string
	Parameters                            map[string]any
	At                                    time.Time // time of the deployment
}

// Deployment is a deployed template.
type Deployment struct {
	Resources []map[string]any // those whose condition is true
	Outputs   map[string]any

	identities []string // ids of all identities that the template declares
}

// scope returns the id of the resource group.
func (o DeploymentOptions) scope() string {
	return "/subscriptions/" + o.Subscription + "/resourceGroups/" + o.Group
}

// ResourceID returns the id of a resource in the resource group, of a kind such as Microsoft.Compute/disks.
func (o DeploymentOptions) ResourceID(kind string, names ...string) string {
	provider, types, _ := strings.Cut(kind, "/")
	id := o.scope() + "/providers/" + provider
	for i, t := range strings.Split(types, "/") {
		id += "/" + t + "/" + names[i]
	}
	return id
}

// armTemplate is a template of Azure Resource Manager.
type armTemplate struct {
	Parameters map[string]struct {
		Type    string
		Default any   `json:"defaultValue"`
		Allowed []any `json:"allowedValues"`
	}
	Variables map[string]any
	Resources []map[string]any
	Outputs   map[string]struct {
		Type  string
		Value any
	}
}

// armError is why a template cannot be deployed.
type armError string

func (e armError) Error() string { return string(e) }

// evaluator evaluates a template, for the part of the template language that stacks of installs use.
// Source: learn.microsoft.com/azure/azure-resource-manager/templates/template-expressions.
type evaluator struct {
	template armTemplate
	options  DeploymentOptions
}

// fail ends the evaluation.
func (e *evaluator) fail(format string, a ...any) { panic(armError(fmt.Sprintf(format, a...))) }

// Deploy deploys a template with what a customer entered. Machines can act afterwards as the identities that it gives
// them, and not as those that it declares and does not give.
func (a *Azure) Deploy(template []byte, o DeploymentOptions) (*Deployment, error) {
	made, err := EvaluateDeployment(template, o)
	if err == nil {
		a.give(made)
	}
	return made, err
}

// EvaluateDeployment evaluates a template with what a customer entered.
func EvaluateDeployment(template []byte, o DeploymentOptions) (made *Deployment, err error) {
	defer func() {
		if problem, is := recover().(armError); is {
			made, err = nil, fmt.Errorf("deploy the template: %w", problem)
		}
	}()
	e := &evaluator{options: o}
	if err := json.Unmarshal(template, &e.template); err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	e.checkParameters()
	made = &Deployment{Outputs: map[string]any{}}
	all := e.resources(made)
	e.checkDependencies(all)
	for name, output := range e.template.Outputs {
		made.Outputs[name] = e.value(output.Value)
		if kind := armKind(made.Outputs[name]); kind != output.Type {
			e.fail("the output %s is a %s, not a %s", name, kind, output.Type)
		}
	}
	return made, nil
}

// checkParameters fails for a value that a parameter may not have, before anything is made.
func (e *evaluator) checkParameters() {
	for name := range e.options.Parameters {
		if _, declared := e.template.Parameters[name]; !declared {
			e.fail("the template has no parameter %q", name)
		}
	}
	for name, p := range e.template.Parameters {
		_, entered := e.options.Parameters[name]
		if len(p.Allowed) == 0 || !entered && p.Default == nil {
			continue
		}
		if value := e.parameter(name); !slices.Contains(p.Allowed, value) {
			e.fail("the value %v of the parameter %s is not one of %v", value, name, p.Allowed)
		}
	}
}

// resources returns all resources, and adds those whose condition is true to a deployment.
func (e *evaluator) resources(made *Deployment) (all []map[string]any) {
	for _, r := range e.template.Resources {
		r, _ := e.value(r).(map[string]any)
		all = append(all, r)
		if r["type"] == armIdentity {
			made.identities = append(made.identities, e.options.ResourceID(armIdentity, fmt.Sprint(r["name"])))
		}
		if r["condition"] != false {
			made.Resources = append(made.Resources, r)
		}
	}
	return all
}

// checkDependencies fails for two resources of the same name, and for a dependency on a resource that the template does
// not have. The case of letters does not count.
func (e *evaluator) checkDependencies(all []map[string]any) {
	known := map[string]bool{}
	for _, r := range all {
		id := e.options.ResourceID(fmt.Sprint(r["type"]), strings.Split(fmt.Sprint(r["name"]), "/")...)
		if id = strings.ToLower(id); known[id] {
			e.fail("the template has the resource %s twice", id)
		}
		known[id] = true
	}
	for _, r := range all {
		depends, _ := r["dependsOn"].([]any)
		for _, on := range depends {
			if !known[strings.ToLower(fmt.Sprint(on))] {
				e.fail("%v depends on %v, which is no resource of the template", r["name"], on)
			}
		}
	}
}

// The kinds of resources that have an effect.
const (
	armMachine  = "Microsoft.Compute/virtualMachines"
	armIdentity = "Microsoft.ManagedIdentity/userAssignedIdentities"
)

// give assigns the identities of machines, and takes all others of the template away.
func (a *Azure) give(made *Deployment) {
	for _, id := range made.identities {
		a.RemoveIdentity(id)
	}
	for _, r := range made.Resources {
		identity, _ := r["identity"].(map[string]any)
		given, _ := identity["userAssignedIdentities"].(map[string]any)
		for id := range given {
			a.AddIdentity(id)
		}
	}
}

// Resource returns the only resource of a kind.
func (d *Deployment) Resource(kind string) (map[string]any, error) {
	var found []map[string]any
	for _, r := range d.Resources {
		if r["type"] == kind {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("there are %d resources of the kind %s", len(found), kind)
	}
	return found[0], nil
}

// Machine returns the only machine of a deployment, for StartMachine, and the script that boots it.
func (d *Deployment) Machine(o DeploymentOptions) (machine AzureMachine, script string, err error) {
	made, err := d.Resource(armMachine)
	if err != nil {
		return machine, "", err
	}
	extension, err := d.Resource(armMachine + "/extensions")
	if err != nil {
		return machine, "", err
	}
	properties, _ := made["properties"].(map[string]any)
	machine = AzureMachine{Tenant: o.Tenant, Resource: o.ResourceID(armMachine, fmt.Sprint(made["name"])),
		UserData: fmt.Sprint(properties["userData"])}
	settings, _ := extension["properties"].(map[string]any)
	protected, _ := settings["protectedSettings"].(map[string]any)
	raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(protected["script"]))
	return machine, string(raw), err
}

func armKind(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case bool:
		return "bool"
	}
	return "string"
}

// value evaluates the expressions in a value.
func (e *evaluator) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, item := range v {
			all[key] = e.value(item)
		}
		return all
	case []any:
		all := []any{}
		for _, item := range v {
			all = append(all, e.value(item))
		}
		return all
	case string:
		switch {
		case strings.HasPrefix(v, "[[") && strings.HasSuffix(v, "]"):
			return v[1:]
		case strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]"):
			p := &armParser{e: e, rest: v[1 : len(v)-1], whole: v}
			got := p.expression()
			if p.rest != "" {
				e.fail("%q is left of %s", p.rest, v)
			}
			return got
		}
	}
	return v
}

// armParser evaluates an expression from left to right.
type armParser struct {
	e           *evaluator
	rest, whole string
}

func (p *armParser) expression() any {
	if text, is := strings.CutPrefix(p.rest, "'"); is {
		return p.text(text)
	}
	name, rest, found := strings.Cut(p.rest, "(")
	if !found || strings.ContainsAny(name, " '),.") {
		p.e.fail("no function at %.80q of %s", p.rest, p.whole)
	}
	p.rest = rest
	var arguments []any
	for !strings.HasPrefix(p.rest, ")") {
		arguments = append(arguments, p.expression())
		p.rest = strings.TrimPrefix(p.rest, ", ")
		if p.rest == "" {
			p.e.fail("%s is not closed in %s", name, p.whole)
		}
	}
	p.rest = p.rest[1:]
	value := p.e.call(name, arguments)
	for strings.HasPrefix(p.rest, ".") {
		end := strings.IndexAny(p.rest[1:], ".,) ")
		if end < 0 {
			end = len(p.rest) - 1
		}
		value = p.e.property(name, value, p.rest[1:end+1])
		p.rest = p.rest[end+1:]
	}
	return value
}

// text reads a text up to its closing quote; two quotes are one.
func (p *armParser) text(rest string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(rest, "'")
		if !found {
			p.e.fail("a text is not closed in %s", p.whole)
		}
		out.WriteString(before)
		if !strings.HasPrefix(after, "'") {
			p.rest = after
			return out.String()
		}
		out.WriteByte('\'')
		rest = after[1:]
	}
}

// property returns a property of a value; what Azure knows only at run time becomes a text with its path.
func (e *evaluator) property(function string, value any, name string) any {
	if object, is := value.(map[string]any); is {
		found, has := object[name]
		if !has {
			e.fail("%s has no %s", function, name)
		}
		return found
	}
	if function != "reference" {
		e.fail("%s has no properties", function)
	}
	return fmt.Sprint(value, ".", name)
}

func (e *evaluator) call(name string, a []any) any {
	texts := make([]string, len(a))
	for i := range a {
		texts[i], _ = a[i].(string)
	}
	o := e.options
	switch name {
	case "parameters":
		return e.parameter(texts[0])
	case "variables":
		v, has := e.template.Variables[texts[0]]
		if !has {
			e.fail("there is no variable %q", texts[0])
		}
		return e.value(v)
	case "subscription":
		return map[string]any{"subscriptionId": o.Subscription, "tenantId": o.Tenant}
	case "resourceGroup":
		return map[string]any{"id": o.scope(), "name": o.Group, "location": o.Location}
	case "resourceId":
		if !strings.Contains(texts[0], "/") { // a resource group is named
			o.Group = texts[0]
			return o.ResourceID(texts[1], texts[2:]...)
		}
		if len(texts)-1 != strings.Count(texts[0], "/") {
			e.fail("resourceId of %v has too many or too few names", texts)
		}
		return o.ResourceID(texts[0], texts[1:]...)
	case "subscriptionResourceId":
		return "/subscriptions/" + o.Subscription + "/providers/" + strings.Join(texts, "/")
	case "reference":
		return "reference " + texts[0]
	case "guid", "newGuid":
		return fmt.Sprintf("guid-%x", sha256.Sum256([]byte(strings.Join(texts, "\n"))))
	case "utcNow":
		if texts[0] != "yyyy-MM-ddTHH:mm:ssZ" {
			e.fail("utcNow of the form %s", texts[0])
		}
		return o.At.UTC().Format(time.RFC3339)
	}
	return e.pure(name, a, texts)
}

// problemOf returns the first argument that could not be computed, or nil.
func problemOf(arguments []any) any {
	for _, a := range arguments {
		if problem, is := a.(armError); is {
			return problem
		}
	}
	return nil
}

// pure calls a function of its arguments alone.
func (e *evaluator) pure(name string, a []any, texts []string) any {
	switch name {
	case "concat":
		return strings.Join(texts, "")
	case "replace":
		return strings.ReplaceAll(texts[0], texts[1], texts[2])
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(texts[0]))
	case "string":
		if text, is := a[0].(string); is {
			return text
		}
		raw, _ := json.Marshal(a[0]) // decoded from JSON
		return string(raw)
	case "if":
		if truth, is := a[0].(bool); !is {
			e.fail("if of %v", a[0])
		} else if truth {
			return a[1]
		}
		return a[2]
	case "not":
		return a[0] == false
	case "and":
		if problem := problemOf(a); problem != nil {
			panic(problem)
		}
		return a[0] == true && a[1] == true
	case "false":
		return false
	case "dateTimeToEpoch":
		at, err := time.Parse(time.RFC3339, texts[0])
		if err != nil { // Azure does not evaluate what if does not choose
			return armError(fmt.Sprintf("%q is not of ISO 8601", texts[0]))
		}
		return at.Unix()
	case "less":
		if problem := problemOf(a); problem != nil {
			return problem
		}
		return a[0].(int64) < a[1].(int64)
	case "empty":
		object, _ := a[0].(map[string]any)
		return a[0] == "" || a[0] != "" && texts[0] == "" && len(object) == 0
	case "createArray":
		return a
	case "createObject":
		all := map[string]any{}
		for i := 0; i < len(a); i += 2 {
			all[texts[i]] = a[i+1]
		}
		return all
	case "union":
		all := map[string]any{}
		for _, item := range a {
			object, _ := item.(map[string]any)
			for key, value := range object {
				all[key] = value
			}
		}
		return all
	}
	e.fail("%s is no function that the simulated Azure has", name)
	return nil
}

func (e *evaluator) parameter(name string) any {
	declared, has := e.template.Parameters[name]
	if !has {
		e.fail("there is no parameter %q", name)
	}
	if value, entered := e.options.Parameters[name]; entered {
		return value
	}
	if declared.Default == nil {
		e.fail("nobody entered %s", name)
	}
	return e.value(declared.Default)
}
