package appconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// mismatch is one point in which a config and the Terraform module that it names do not fit.
type mismatch struct {
	key           string // path of the key that is wrong, such as vars.cidr
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

// moduleValues are what a config gives a module.
type moduleValues struct {
	vars  map[string]string
	files []string // texts of var_file
	// partial is set when not all of the files were read, so that they may hold any variable.
	partial bool
}

// mismatches returns the variables that the module does not have, and those that it needs and does not get.
func (v moduleValues) mismatches(module *tfmodule.Module) []mismatch {
	declared := map[string]bool{}
	names := make([]string, 0, len(module.Variables))
	for _, variable := range module.Variables {
		declared[variable.Name] = true
		names = append(names, variable.Name)
	}
	var found []mismatch
	var near nearest
	for _, name := range slices.Sorted(maps.Keys(v.vars)) {
		if !declared[name] {
			found = append(found, mismatch{
				key: syntax.Join("vars", name), message: fmt.Sprintf("the module in %s has no variable %s", module.Dir, diagnostic.Quote(name)),
				hint: near.or(name, names, "remove it, or declare the variable in the module"),
			})
		}
	}
	if v.partial {
		return found
	}
	given := v.given(module)
	for _, variable := range module.Variables {
		if !variable.Required || given[variable.Name] {
			continue
		}
		found = append(found, mismatch{
			key: "vars", message: fmt.Sprintf("the module in %s needs a value for its variable %s", module.Dir, diagnostic.Quote(variable.Name)),
			hint: fmt.Sprintf("set %s, or give the variable a default at %s", syntax.Join("vars", variable.Name), variable.Position),
		})
	}
	return found
}

// assigns finds what looks like the name of a variable that a tfvars file of either language sets.
var assigns = regexp.MustCompile(`(?m)(?:^|[{,}])\s*"?([A-Za-z_][A-Za-z0-9_-]*)"?\s*[=:]`)

// given returns the variables that may have a value. The var_files are templates, so that what they set is only certain once they are
// rendered: whatever looks like a name that is set counts.
func (v moduleValues) given(module *tfmodule.Module) map[string]bool {
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

// noOutput returns the mismatch for an output that a module does not have.
func noOutput(module *tfmodule.Module, name string, near *nearest) (mismatch, bool) {
	if slices.Contains(module.Outputs, name) {
		return mismatch{}, false
	}
	return mismatch{
		message: fmt.Sprintf("the module in %s has no output %s", module.Dir, diagnostic.Quote(name)),
		hint:    near.or(name, module.Outputs, "declare the output in the module, or read another one"),
	}, true
}

// nearest finds near names within a bound: a repository can declare any number of them.
type nearest struct{ compared int }

// or asks whether the nearest of the known names was meant, or else gives other advice.
func (n *nearest) or(name string, known []string, other string) string {
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

// maxMismatches is how many are listed of one module.
const maxMismatches = 10

// ModuleProblem returns in words why the config does not fit the Terraform module of a component, or of the sandbox: variables that
// the module lacks or needs, and outputs that something reads and the module lacks. It is empty when they fit. Load reports the same
// with positions for modules in the repository of the config.
func (a *App) ModuleProblem(name string, module *tfmodule.Module) string {
	component, there := a.Component(name)
	if !there || component.Terraform == nil {
		return ""
	}
	values := moduleValues{vars: component.Terraform.Vars, files: component.Terraform.VarFiles}
	var words []string
	for _, one := range values.mismatches(module) {
		words = append(words, one.String())
	}
	words = append(words, a.missingOutputs(component, module)...)
	if more := len(words) - maxMismatches; more > 0 {
		words = append(words[:maxMismatches], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; ")
}

// missingOutputs returns what the config reads of a component and its module does not have.
func (a *App) missingOutputs(component *Component, module *tfmodule.Module) []string {
	var words []string
	var near nearest
	read := func(owner string, texts map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			if !strings.Contains(texts[key], "outputs") || !reads(texts[key], component) {
				continue
			}
			for _, ref := range refsOf(map[string]string{key: texts[key]}) {
				output, of := outputOf(ref, component)
				if !of || asksFor(texts[key], output) {
					continue
				}
				if one, missing := noOutput(module, output, &near); missing {
					one.key = key
					words = append(words, owner+", "+one.String())
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
	return words
}

// asksFor reports whether a text asks with hasKey whether there is an output before it reads it.
func asksFor(text, output string) bool {
	return strings.Contains(text, "hasKey") && strings.Contains(text, strconv.Quote(output))
}

// reads reports whether a text may read something of a component; parsing it tells.
func reads(text string, component *Component) bool {
	return strings.Contains(text, component.Name) || component.VarName != "" && strings.Contains(text, component.VarName)
}

// outputOf returns the output of a component that a path reads.
func outputOf(ref render.Path, component *Component) (string, bool) {
	if component.Kind == KindSandbox {
		if len(ref) > 2 && ref[0] == "sandbox" && ref[1] == "outputs" {
			return ref[2], true
		}
		return "", false
	}
	if len(ref) > 3 && ref[0] == "components" && ref[2] == "outputs" && (ref[1] == component.Name || ref[1] == component.VarName) {
		return ref[3], true
	}
	return "", false
}
