package cloudtest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// StackOptions are what a customer enters to create a stack of CloudFormation.
type StackOptions struct {
	Name, Account, Region string
	Parameters            map[string]string
	// Make makes a resource of some types, and returns its id; ok is false for all others.
	Make func(kind string, properties map[string]any) (id string, ok bool, err error)
	// Before is the stack that is updated; nil for a new one. What does not change keeps its id.
	Before *Stack
}

// Stack is a stack of CloudFormation.
type Stack struct {
	ID        string                   // ARN
	Resources map[string]StackResource // those whose condition is true, by their names in the template
}

// StackResource is a resource of a stack.
type StackResource struct {
	Type, ID   string
	Properties map[string]any
}

// stackTemplate is a template of CloudFormation.
type stackTemplate struct {
	Parameters map[string]struct {
		Type, AllowedPattern string
		Default              *json.RawMessage
		AllowedValues        []string
		MinLength            int
	}
	Rules map[string]struct {
		RuleCondition any
		Assertions    []struct {
			Assert            any
			AssertDescription string
		}
	}
	Conditions map[string]any
	Resources  map[string]struct {
		Type, Condition string
		DependsOn       []string
		Properties      map[string]any
	}
}

// launch evaluates a template, for the part of CloudFormation's language that stacks of installs use.
type launch struct {
	aws        *AWS
	options    StackOptions
	template   stackTemplate
	parameters map[string]any
	stack      *Stack
	making     []string // resources that are being made
}

// LaunchStack creates a stack in an account, or updates it: it checks parameters and rules, and makes the resources
// that the conditions allow, in the order of their references. Roles can be assumed afterwards, by whom they trust.
// All other resources have invented ids.
func (a *AWS) LaunchStack(template []byte, o StackOptions) (stack *Stack, err error) {
	l := &launch{aws: a, options: o, parameters: map[string]any{}}
	if err := json.Unmarshal(template, &l.template); err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	l.stack = &Stack{Resources: map[string]StackResource{}, ID: "arn:aws:cloudformation:" + o.Region + ":" + o.Account +
		":stack/" + o.Name + "/0a1b2c3d-0000-0000-0000-" + o.Account}
	if err := errors.Join(l.checkParameters(), l.checkRules()); err != nil {
		return nil, fmt.Errorf("create the stack %s: %w", o.Name, err)
	}
	for _, id := range slices.Sorted(maps.Keys(l.template.Resources)) {
		if err := l.make(id); err != nil {
			return nil, fmt.Errorf("create the stack %s: %w", o.Name, err)
		}
	}
	return l.stack, nil
}

// DeleteStack removes the roles of a stack.
func (a *AWS) DeleteStack(s *Stack) {
	for _, r := range s.Resources {
		if r.Type == "AWS::IAM::Role" {
			a.RemoveRole(r.ID)
		}
	}
}

func (l *launch) checkParameters() error {
	var errs []error
	for name := range l.options.Parameters {
		if _, declared := l.template.Parameters[name]; !declared {
			errs = append(errs, fmt.Errorf("Parameters: [%s] do not exist in the template", name)) //nolint:staticcheck // AWS says it so
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.template.Parameters)) {
		p := l.template.Parameters[name]
		value, entered := l.options.Parameters[name]
		if !entered && p.Default == nil {
			errs = append(errs, fmt.Errorf("Parameters: [%s] must have values", name)) //nolint:staticcheck // AWS says it so
			continue
		}
		if !entered {
			value = strings.Trim(string(*p.Default), `"`)
		}
		switch {
		case p.AllowedValues != nil && !slices.Contains(p.AllowedValues, value):
			errs = append(errs, fmt.Errorf("Parameter '%s' must be one of AllowedValues", name)) //nolint:staticcheck // AWS says it so
		case p.AllowedPattern != "" && !regexp.MustCompile(`^(?:`+p.AllowedPattern+`)$`).MatchString(value):
			errs = append(errs, fmt.Errorf( //nolint:staticcheck // AWS says it so
				"Parameter %s failed to satisfy constraint: Member must satisfy regular expression pattern: %s",
				name, p.AllowedPattern))
		case len(value) < p.MinLength:
			errs = append(errs, fmt.Errorf( //nolint:staticcheck // AWS says it so
				"Parameter '%s' must contain at least %d characters", name, p.MinLength))
		case p.Type == "CommaDelimitedList":
			list := []any{}
			for item := range strings.SplitSeq(value, ",") {
				list = append(list, item)
			}
			l.parameters[name] = list
		default:
			l.parameters[name] = value
		}
	}
	return errors.Join(errs...)
}

// checkRules fails for an assertion that is not true, before anything is made.
func (l *launch) checkRules() error {
	for _, name := range slices.Sorted(maps.Keys(l.template.Rules)) {
		rule := l.template.Rules[name]
		if rule.RuleCondition != nil && l.value(rule.RuleCondition) != true {
			continue
		}
		for _, a := range rule.Assertions {
			if l.value(a.Assert) != true {
				return fmt.Errorf("Template error: Rule %s: %s", name, a.AssertDescription) //nolint:staticcheck // AWS says it so
			}
		}
	}
	return nil
}

// holds reports whether a condition is true. The empty one is.
func (l *launch) holds(condition string) bool {
	return condition == "" || l.value(l.template.Conditions[condition]) == true
}

// make makes a resource, unless it exists or its condition is false.
func (l *launch) make(id string) (err error) {
	r, declared := l.template.Resources[id]
	_, made := l.stack.Resources[id]
	switch {
	case !declared:
		return fmt.Errorf("there is no resource %s", id)
	case made || !l.holds(r.Condition):
		return nil
	case slices.Contains(l.making, id):
		return fmt.Errorf("circular dependency between resources: %v", append(l.making, id))
	}
	defer func() {
		if problem, is := recover().(launchError); is {
			err = fmt.Errorf("%s: %w", id, problem)
		}
	}()
	l.making = append(l.making, id)
	for _, on := range r.DependsOn {
		if err := l.make(on); err != nil {
			return err
		}
	}
	properties, _ := l.value(r.Properties).(map[string]any)
	built := StackResource{Type: r.Type, Properties: properties}
	ok := false
	if before := l.options.Before; before != nil && r.Type != "AWS::IAM::Role" {
		old := before.Resources[id]
		if ok = old.Type == r.Type && reflect.DeepEqual(old.Properties, properties); ok {
			built.ID = old.ID
		}
	}
	if !ok && l.options.Make != nil {
		if built.ID, ok, err = l.options.Make(r.Type, properties); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	if !ok {
		built.ID = l.invent(r.Type, id, properties)
	}
	l.stack.Resources[id] = built
	l.making = l.making[:len(l.making)-1]
	return nil
}

// idPrefixes are those of ids that AWS gives.
var idPrefixes = map[string]string{"AWS::EC2::VPC": "vpc-", "AWS::EC2::Subnet": "subnet-",
	"AWS::EC2::SecurityGroup": "sg-", "AWS::EC2::Volume": "vol-"}

// invent returns the id of a resource, and adds a role to the account.
func (l *launch) invent(kind, name string, properties map[string]any) string {
	switch kind {
	case "AWS::IAM::Role":
		return l.aws.AddRole(l.role(properties)).ARN()
	case "AWS::SecretsManager::Secret":
		l.aws.Secrets.launch(fmt.Sprint(properties["Name"]), properties["SecretString"])
		return fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:%v-a1b2c3", l.options.Region, l.options.Account,
			properties["Name"])
	case "AWS::Lambda::Function":
		return fmt.Sprint(properties["FunctionName"])
	}
	if prefix := idPrefixes[kind]; prefix != "" {
		return prefix + randomHex(8)
	}
	return l.options.Name + "-" + name + "-" + strings.ToUpper(randomHex(6))
}

// role returns a role with whom it trusts and until when.
func (l *launch) role(properties map[string]any) Role {
	role := Role{Account: l.options.Account, Name: fmt.Sprint(properties["RoleName"])}
	var trust struct {
		Statement []struct {
			Principal struct{ AWS string }
			Condition struct{ DateLessThan map[string]time.Time }
		}
	}
	raw, _ := json.Marshal(properties["AssumeRolePolicyDocument"]) // decoded from JSON
	if err := json.Unmarshal(raw, &trust); err != nil {
		panic(launchError("its trust cannot be read: " + err.Error()))
	}
	for _, s := range trust.Statement {
		if s.Principal.AWS != "" {
			role.TrustedBy = append(role.TrustedBy, s.Principal.AWS)
		}
		role.TrustedUntil = s.Condition.DateLessThan["aws:CurrentTime"]
	}
	return role
}

// launchError is why a resource cannot be made.
type launchError string

func (e launchError) Error() string { return string(e) }

// noValue stands for a property that is left out.
type noValue struct{}

// value evaluates the functions in a value. It panics with a launchError.
func (l *launch) value(v any) any {
	switch v := v.(type) {
	case []any:
		all := []any{}
		for _, item := range v {
			if item := l.value(item); item != (noValue{}) {
				all = append(all, item)
			}
		}
		return all
	case map[string]any:
		if len(v) == 1 {
			for name, argument := range v {
				if name == "Ref" || strings.HasPrefix(name, "Fn::") {
					return l.call(name, argument)
				}
			}
		}
		all := map[string]any{}
		for key, item := range v {
			if item := l.value(item); item != (noValue{}) {
				all[key] = item
			}
		}
		return all
	}
	return v
}

func (l *launch) call(name string, argument any) any {
	switch name {
	case "Ref":
		return l.ref(argument.(string))
	case "Fn::If":
		a := argument.([]any)
		if l.holds(a[0].(string)) {
			return l.value(a[1])
		}
		return l.value(a[2])
	case "Fn::GetAtt":
		a := argument.([]any)
		return l.attribute(a[0].(string), a[1].(string))
	}
	a, _ := l.value(argument).([]any)
	switch name {
	case "Fn::Equals":
		return fmt.Sprint(a[0]) == fmt.Sprint(a[1])
	case "Fn::Not":
		return a[0] != true
	case "Fn::Join":
		var texts []string
		for _, item := range a[1].([]any) {
			texts = append(texts, fmt.Sprint(item))
		}
		return strings.Join(texts, a[0].(string))
	case "Fn::Select":
		return a[1].([]any)[int(a[0].(float64))]
	case "Fn::GetAZs":
		return []any{l.options.Region + "a", l.options.Region + "b", l.options.Region + "c"}
	case "Fn::Cidr":
		return blocks(fmt.Sprint(a[0]), int(a[1].(float64)), int(a[2].(float64)))
	case "Fn::Base64":
		return l.value(argument)
	}
	panic(launchError("the simulated CloudFormation has no " + name))
}

// blocks returns blocks of addresses at the beginning of a network of IPv4.
func blocks(network string, count, bits int) []any {
	whole, err := netip.ParsePrefix(network)
	if err != nil {
		panic(launchError(err.Error()))
	}
	first := whole.Masked().Addr().As4()
	var all []any
	for i := range count {
		var at [4]byte
		binary.BigEndian.PutUint32(at[:], binary.BigEndian.Uint32(first[:])+uint32(i)<<bits) //nolint:gosec // a small number
		all = append(all, netip.PrefixFrom(netip.AddrFrom4(at), 32-bits).String())
	}
	return all
}

func (l *launch) ref(id string) any {
	if value, is := l.parameters[id]; is {
		return value
	}
	switch id {
	case "AWS::Region":
		return l.options.Region
	case "AWS::AccountId":
		return l.options.Account
	case "AWS::Partition":
		return "aws"
	case "AWS::NoValue":
		return noValue{}
	}
	return l.resource(id).ID
}

// resource returns a resource, which is made first.
func (l *launch) resource(id string) StackResource {
	if err := l.make(id); err != nil {
		panic(launchError(err.Error()))
	}
	made, exists := l.stack.Resources[id]
	if !exists {
		panic(launchError("it reads " + id + ", which the stack does not have"))
	}
	return made
}

func (l *launch) attribute(id, name string) any {
	made := l.resource(id)
	switch {
	case made.Type == "AWS::EC2::SecurityGroup", made.Type == "AWS::IAM::Role" && name == "Arn":
		return made.ID
	case made.Type == "AWS::EC2::Subnet" && name == "AvailabilityZone":
		return made.Properties[name]
	case name == "Arn":
		return "arn:aws:" + strings.ToLower(strings.Split(made.Type, "::")[1]) + ":" + l.options.Region + ":" +
			l.options.Account + ":" + made.ID
	}
	return made.ID + "." + name
}
