package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// mismatch is one contradiction between a config and the Terraform module that it names.
type mismatch struct {
	key           string // path of the wrong key, such as vars.cidr
	message, hint string
}

func (m mismatch) String() string {
	text := m.message
	if m.key != "" {
		text = m.key + ": " + text
	}
	if m.hint != "" {
		text += " (" + m.hint + ")"
	}
	return text
}

// moduleValues are the values that a config sets for a module.
type moduleValues struct {
	vars  map[string]string
	files []string // texts of var_file
	// passed are the variables that nuon passes to the module.
	passed []string
	// partial is set if some of the files were not read, so that they may set any variable.
	partial bool
}

// mismatches returns the variables that are set but not declared by the module, and the required
// ones that are not set.
func (v moduleValues) mismatches(module *tfmodule.Module) []mismatch {
	declared := map[string]bool{}
	names := make([]string, 0, len(module.Variables))
	for _, variable := range module.Variables {
		declared[variable.Name] = true
		names = append(names, variable.Name)
	}
	var found []mismatch
	var near nearestFinder
	for _, name := range slices.Sorted(maps.Keys(v.vars)) {
		if !declared[name] {
			found = append(found, mismatch{
				key:     syntax.Join("vars", name),
				message: fmt.Sprintf("the module in %s has no variable %s", module.Dir, diagnostic.Quote(name)),
				hint:    near.hintOr(name, names, "remove it, or declare the variable in the module"),
			})
		}
	}
	if v.partial {
		return found
	}
	set := v.mayBeSet(module)
	for _, variable := range module.Variables {
		if !variable.Required || set[variable.Name] || slices.Contains(v.passed, variable.Name) {
			continue
		}
		found = append(found, mismatch{
			key: "vars", message: fmt.Sprintf("the module in %s needs a value for its variable %s", module.Dir,
				diagnostic.Quote(variable.Name)),
			hint: fmt.Sprintf("set %s, or give the variable a default at %s", syntax.Join("vars", variable.Name),
				variable.Position),
		})
	}
	return found
}

// assigns matches what looks like the assignment of a variable in a tfvars file, in HCL or JSON.
var assigns = lazyregexp.New(`(?m)(?:^|[{,}])\s*"?([A-Za-z_][A-Za-z0-9_-]*)"?\s*[=:]`)

// mayBeSet returns the variables that may have a value. The var_files are templates, so what they
// set is only certain once they are rendered: anything that looks like an assignment counts.
func (v moduleValues) mayBeSet(module *tfmodule.Module) map[string]bool {
	given := map[string]bool{}
	for name := range v.vars {
		given[name] = true
	}
	for _, name := range module.Assigned {
		given[name] = true
	}
	for _, text := range v.files {
		for _, match := range assigns.FindAllStringSubmatch(text, -1) {
			given[match[1]] = true
		}
	}
	return given
}

// missingOutput returns the mismatch for an output that a module does not have.
func missingOutput(module *tfmodule.Module, name string, near *nearestFinder) (mismatch, bool) {
	if slices.Contains(module.Outputs, name) {
		return mismatch{}, false
	}
	return mismatch{
		message: fmt.Sprintf("the module in %s has no output %s", module.Dir, diagnostic.Quote(name)),
		hint:    near.hintOr(name, module.Outputs, "declare the output in the module, or read another one"),
	}, true
}

// nearestFinder finds near names within a bound, because a repository can declare any number of names.
type nearestFinder struct{ compared int }

// hintOr returns a hint with the nearest of the known names, or else the other hint.
func (n *nearestFinder) hintOr(name string, known []string, other string) string {
	for _, one := range known {
		n.compared += len(name) * len(one)
	}
	if n.compared <= maxCompared/10 {
		if hint := diagnostic.DidYouMean(name, known); hint != "" {
			return hint
		}
	}
	return other
}

// maxMismatches is the number of mismatches that are listed for one module.
const maxMismatches = 10

// ModuleMismatch returns why the config does not match the Terraform module of a component, or of
// the sandbox: variables that the module does not declare or that are required and not set, and
// outputs that are read but not declared. It returns "" if they match. Load reports the same
// problems with positions for modules in the repository of the config.
func (a *App) ModuleMismatch(name string, module *tfmodule.Module) string {
	component, found := a.Component(name)
	if !found || component.Terraform == nil {
		return ""
	}
	values := moduleValues{vars: component.Terraform.Vars, files: component.Terraform.VarFiles}
	if name == SandboxName {
		values.passed = platformNames(a.Cloud())
	}
	var messages []string
	for _, m := range values.mismatches(module) {
		messages = append(messages, m.String())
	}
	messages = append(messages, a.missingOutputs(component, module)...)
	if more := len(messages) - maxMismatches; more > 0 {
		messages = append(messages[:maxMismatches], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(messages, "; ")
}

// missingOutputs returns the outputs of a component that the config reads and its module does not
// declare.
func (a *App) missingOutputs(component *Component, module *tfmodule.Module) []string {
	var messages []string
	var near nearestFinder
	read := func(owner string, texts map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			if !strings.Contains(texts[key], "outputs") || !mayRead(texts[key], component) {
				continue
			}
			for _, ref := range refsOf(map[string]string{key: texts[key]}) {
				output, read := outputOf(ref, component)
				if !read || testsFor(texts[key], output) {
					continue
				}
				if m, missing := missingOutput(module, output, &near); missing {
					m.key = key
					messages = append(messages, owner+", "+m.String())
				}
			}
		}
	}
	for i := range a.Components {
		read("component "+a.Components[i].Name, a.Components[i].Templates())
	}
	for i := range a.Actions {
		read("action "+a.Actions[i].Name, a.Actions[i].Templates())
	}
	return messages
}

// testsFor reports whether a text tests with hasKey for an output before it reads it.
func testsFor(text, output string) bool {
	return strings.Contains(text, "hasKey") && strings.Contains(text, strconv.Quote(output))
}

// mayRead reports whether a text may read from a component; it is a cheap test before parsing.
func mayRead(text string, component *Component) bool {
	return strings.Contains(text, component.Name) ||
		component.VarName != "" && strings.Contains(text, component.VarName)
}

// outputOf returns the output of a component that a path reads.
func outputOf(ref render.Path, component *Component) (string, bool) {
	if component.Kind == KindSandbox {
		if len(ref) > 2 && ref[0] == "sandbox" && ref[1] == "outputs" {
			return ref[2], true
		}
		return dnsOutput, len(ref) > 0 && readsDomain(ref)
	}
	if len(ref) > 3 && ref[0] == "components" && ref[2] == "outputs" &&
		(ref[1] == component.Name || ref[1] == component.VarName) {
		return ref[3], true
	}
	return "", false
}
