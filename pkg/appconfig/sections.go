package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fileKind is one kind of file of the format.
type fileKind struct {
	read       func(l *loader, file string, root *table)
	mayBeEmpty bool // a file with nothing but comments is no mistake
}

// rootFiles are the files that count at the root of a config directory.
var rootFiles = map[string]fileKind{
	"metadata.toml": {read: (*loader).metadata},
	"sandbox.toml":  {read: (*loader).sandbox},
	"inputs.toml":   {read: (*loader).inputsFile, mayBeEmpty: true},
	"secrets.toml":  {read: (*loader).secretsFile, mayBeEmpty: true},

	// What a runner is, and what the customer runs first, does not depend on these files here. Every real app has them, so they
	// are checked in silence.
	"runner.toml": {read: silent(runnerKeys), mayBeEmpty: true},
	"stack.toml":  {read: silent(stackKeys), mayBeEmpty: true},

	"permissions.toml": {read: idle("permissions", schema{
		"provision_role": object(roleKeys), "deprovision_role": object(roleKeys), "maintenance_role": object(roleKeys),
	}), mayBeEmpty: true},
	"policies.toml":    {read: idle("policies", schema{"policy": list(policyKeys)}), mayBeEmpty: true},
	"break_glass.toml": {read: idle("break-glass roles", schema{"role": list(roleKeys)}), mayBeEmpty: true},
	"operation_roles.toml": {read: idle("operation roles", schema{
		"type":  is(textShape),
		"rules": list(schema{"principal": must(textShape), "operation": must(textShape), "role": must(textShape)}),
	}), mayBeEmpty: true},
	"kubernetes_contexts.toml": {read: idle("Kubernetes contexts", schema{
		"kubernetes_context": list(contextKeys),
	}), mayBeEmpty: true},
	"installer.toml": {read: idle("the installer page", installerKeys), mayBeEmpty: true},
	"branch.toml":    {read: idle("branches", branchKeys), mayBeEmpty: true},
	"installs.toml":  {read: idle("a repository of installs", schema{"connected_repo": repoRule, "public_repo": repoRule}), mayBeEmpty: true},
	"triggers.toml":  {read: idleAny("triggers of branch runs"), mayBeEmpty: true},
}

var contextKeys = schema{"name": must(textShape), "component": must(textShape)}

// sections are the directories that count at the root. Other directories hold payload.
var sections = map[string]fileKind{
	"components":   {read: (*loader).component},
	"actions":      {read: (*loader).action},
	"installs":     {read: (*loader).install},
	"inputs":       {read: (*loader).inputFile},
	"input_groups": {read: (*loader).inputGroupFile},
	"secrets":      {read: (*loader).secretFile},
	"permissions":  {read: idle("permissions", with(roleKeys, schema{"type": must(textShape)}))},
	"policies":     {read: idle("policies", policyKeys)},
	// Here a file is either one role or an array of them.
	"break_glass": {read: idle("break-glass roles", with(roleKeys, schema{
		"role": list(roleKeys), "name": is(textShape), "description": is(textShape),
		"policies": rule{shape: listShape, keys: rolePolicyRule.keys},
	}))},
	"runbooks":            {read: (*loader).runbook},
	"branches":            {read: idle("branches", branchKeys)},
	"kubernetes_contexts": {read: idle("Kubernetes contexts", with(contextKeys, schema{"name": is(textShape), "component": is(textShape), "kubernetes_context": list(contextKeys)}))},
}

// silent checks the keys and says nothing about their having no effect.
func silent(keys schema) func(*loader, string, *table) {
	return func(l *loader, file string, root *table) { l.check(file, "", root, keys) }
}

// idle checks the keys and says, once, that nothing comes of the file yet.
func idle(what string, keys schema) func(*loader, string, *table) {
	return func(l *loader, file string, root *table) {
		l.check(file, "", root, keys)
		l.warnf(file, startOfFile, "", "accepted, no effect yet: %s", what)
	}
}

func idleAny(what string) func(*loader, string, *table) {
	return func(l *loader, file string, _ *table) {
		l.warnf(file, startOfFile, "", "accepted, no effect yet: %s", what)
	}
}

func (l *loader) metadata(file string, root *table) {
	idle, at := l.check(file, "", root, metadataKeys)
	l.sayIdle(file, at, idle)
	l.app.Metadata = Metadata{
		Version:     root.text("version"),
		DisplayName: root.text("display_name"),
		Description: root.text("description"),
		Readme:      l.inline(file, root, "readme").text,
	}
	switch version := l.app.Metadata.Version; version {
	case "", "v2":
	case "v1":
		l.warnf(file, root.place("version"), `write "v2"`, "format v1 is read as v2")
	default:
		l.errorf(file, root.place("version"), `write "v2"`, "there is no format version %q", version)
	}
}

func (l *loader) inputsFile(file string, root *table) {
	idle, at := l.check(file, "", root, inputsKeys)
	l.sayIdle(file, at, idle)
	for _, t := range root.tables("group") {
		l.addGroup(file, t)
	}
	for _, t := range root.tables("input") {
		l.addInput(file, t)
	}
}

func (l *loader) inputGroupFile(file string, root *table) {
	l.check(file, "", root, inputGroupKeys)
	l.addGroup(file, root)
}

func (l *loader) inputFile(file string, root *table) {
	idle, at := l.check(file, "", root, inputKeys)
	l.sayIdle(file, at, idle)
	l.addInput(file, root)
}

// maxDeclared bounds the inputs, the groups and the secrets of an app.
const maxDeclared = 5000

// crowded tells when there are too many of something. What comes after that is left out.
func (l *loader) crowded(file string, t *table, what string, all []named) bool {
	if len(all) < maxDeclared {
		return false
	}
	l.errorf(file, t.at, "split the app", "there are more than %d %s", maxDeclared, what)
	return true
}

func (l *loader) addGroup(file string, t *table) {
	if l.crowded(file, t, "input groups", l.groups) {
		return
	}
	group := InputGroup{Name: t.text("name"), DisplayName: t.text("display_name"), Description: t.text("description")}
	l.app.Groups = append(l.app.Groups, group)
	l.groups = append(l.groups, named{group.Name, file, t.place("name")})
}

func (l *loader) addInput(file string, t *table) {
	if l.crowded(file, t, "inputs", l.inputs) {
		return
	}
	input := Input{
		Name: t.text("name"), DisplayName: t.text("display_name"), Description: t.text("description"),
		Group: t.text("group"), Type: t.text("type"),
		Required: t.flag("required"), Sensitive: t.flag("sensitive"),
		Internal: t.flag("internal"), UserConfigurable: t.flag("user_configurable"),
	}
	if input.Type == "" {
		input.Type = "string"
	}
	if !slices.Contains(inputTypes, input.Type) {
		l.errorf(file, t.place("type"), didYouMean(input.Type, inputTypes), "there is no input type %q", input.Type)
	}
	l.checkName(file, t, "input", inputName)
	if fallback, ok := t.keys["default"].text(); ok {
		input.Default = &fallback
		if problem := input.Check(fallback); problem != "" {
			l.errorf(file, t.place("default"), "", "the default of input %q %s", input.Name, problem)
		}
		if input.Sensitive && fallback != "" {
			l.warnf(file, t.place("default"), "remove the default and set it per install",
				"input %q is sensitive, but its default can be read by everyone who can read this file", input.Name)
		}
	}
	if at, ok := t.keys["group"]; ok && input.Group != "" {
		l.groupUses = append(l.groupUses, named{input.Group, file, at.at})
	}
	l.app.Inputs = append(l.app.Inputs, input)
	l.inputs = append(l.inputs, named{input.Name, file, t.place("name")})
}

func (l *loader) secretsFile(file string, root *table) {
	l.check(file, "", root, secretsKeys)
	for _, t := range root.tables("secret") {
		l.addSecret(file, t)
	}
	l.warnf(file, startOfFile, "", "accepted, no effect yet: secrets")
}

func (l *loader) secretFile(file string, root *table) {
	l.check(file, "", root, secretKeys)
	l.addSecret(file, root)
	l.warnf(file, startOfFile, "", "accepted, no effect yet: secrets")
}

func (l *loader) addSecret(file string, t *table) {
	if l.crowded(file, t, "secrets", l.secrets) {
		return
	}
	l.checkName(file, t, "secret", componentName)
	l.app.Secrets = append(l.app.Secrets, Secret{
		Name: t.text("name"), DisplayName: t.text("display_name"), Description: t.text("description"),
		Required: t.flag("required"), AutoGenerate: t.flag("auto_generate"),
	})
	l.secrets = append(l.secrets, named{t.text("name"), file, t.place("name")})
}

func (l *loader) runbook(file string, root *table) {
	l.check(file, "", root, runbookKeys)
	for i, step := range root.tables("steps") {
		kind := step.text("type")
		if kind != "" && !slices.Contains(runbookStepTypes, kind) {
			l.errorf(file, step.place("type"), didYouMean(kind, runbookStepTypes), "steps[%d]: there is no step type %q", i, kind)
		}
	}
	l.warnf(file, startOfFile, "", "accepted, no effect yet: runbooks")
}

// componentKindNames is for hints.
func componentKindNames() string {
	return fmt.Sprint("known kinds: ", strings.Join(slices.Sorted(maps.Keys(componentKinds)), ", "))
}
