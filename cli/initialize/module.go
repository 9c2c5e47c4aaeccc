package initialize

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// module is a Terraform module.
type module struct {
	variables []tfmodule.Variable
	cloud     string // the one whose provider it requires; empty for none
}

// input is an input that an install sets.
type input struct {
	name, words, group, kind string
	sensitive                bool
}

// isVariable reports whether a name is valid for a Terraform variable. Any other name
// could inject text into the files that are written.
func isVariable(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || r != '-' && !unicode.IsNumber(r)) {
			return false
		}
	}
	return name != ""
}

// key returns a key in TOML notation.
func key(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !isWord(r) }) {
		return appconfig.Quote(name)
	}
	return name
}

// isWord reports whether a template can have a character in a name.
func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// module finds a Terraform module in a directory.
func (s *searcher) module(dir string, files map[string]bool) (found find, ok bool, err error) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(name string) bool {
		return (strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tf.json")) && !strings.HasPrefix(name, ".")
	}) {
		return find{}, false, nil
	}
	read, err := tfmodule.Read(s.fsys, dir)
	if err != nil {
		return find{}, false, err
	}
	m := module{}
	for _, v := range read.Variables {
		if !isVariable(v.Name) {
			return find{}, false, fmt.Errorf("the name of its variable %q is invalid in Terraform", plain(v.Name))
		}
		m.variables = append(m.variables, v)
	}
	for _, p := range read.Providers {
		if cloud := map[string]string{"aws": "aws", "azurerm": "azure",
			"google": "gcp"}[p.Name]; cloud != "" && m.cloud == "" {
			m.cloud = cloud
		}
	}
	return find{about: "Terraform module", part: m}, true, nil
}

func (m module) addTo(a *app, dir string) {
	name := a.componentName(path.Base(dir))
	var kept, vars, files []string
	for _, v := range m.variables {
		if !v.Required {
			kept = append(kept, v.Name)
			continue
		}
		in := a.input(name, v)
		if simple(v.Type) {
			vars = append(vars, fmt.Sprintf("%s = \"{{.nuon.inputs.inputs.%s}}\"", key(v.Name), in))
		} else {
			files = append(files, fmt.Sprintf("  \"%s\": {{.nuon.inputs.inputs.%s}}", v.Name, in))
		}
	}
	var b strings.Builder
	b.WriteString(terraformComponent(name, dir))
	if len(kept) > 0 {
		fmt.Fprintf(&b, "\n# These variables keep their defaults: %s. To let installs set one, add\n# it an input in "+
			"inputs.toml and a line in [vars] here.\n", strings.Join(kept, ", "))
	}
	if len(vars) > 0 {
		b.WriteString("\n[vars]\n" + strings.Join(vars, "\n") + "\n")
	}
	if len(files) > 0 { // as JSON, like the inputs, because JSON does not interpolate ${
		b.WriteString("\n# tfvars as JSON, for values that are no plain text\n[[var_file]]\ncontents = '''\n{\n" +
			strings.Join(files, ",\n") + "\n}\n'''\n")
	}
	a.components = append(a.components, component{name: name, text: b.String()})
	a.notes = append(a.notes, fmt.Sprintf("The component %s is the module in %s. Its variables without a default "+
		"became inputs.", name, placeOf(dir)))
	if a.cloud == "" {
		a.cloud = m.cloud
	}
}

// terraformComponent returns the start of the file of a component for a module in the
// app's own repository.
func terraformComponent(name, dir string) string {
	return fmt.Sprintf(`# terraform
type              = "terraform_module"
name              = %s
terraform_version = %q

[public_repo]
repo      = "."
directory = %s
`, appconfig.Quote(name), terraformVersion, appconfig.Quote(dir))
}

// simple reports whether values of a Terraform type are written as text.
func simple(kind string) bool {
	switch kind {
	case "", "string", "number", "bool":
		return true
	}
	return false
}

// input returns the name of the input for a variable of a component. Components share
// an input if their variables have the same declaration.
func (a *app) input(component string, v tfmodule.Variable) string {
	short := strings.Map(func(r rune) rune {
		if !isWord(r) {
			return '_'
		}
		return r
	}, v.Name)
	in := input{name: short[:min(len(short), longestName)], words: plain(v.Description), group: component, kind: v.Type,
		sensitive: v.Sensitive}
	switch {
	case in.kind == "":
		in.kind = "string"
	case !simple(in.kind):
		in.kind = "json"
	}
	if in.words == "" {
		in.words = "The variable " + v.Name + " of " + component
	}
	full := component + "_" + in.name
	full = full[:min(len(full), longestName)]
	for _, name := range []string{in.name, full} {
		i := slices.IndexFunc(a.inputs, func(other input) bool { return other.name == name })
		if i < 0 {
			in.name = name
			a.inputs = append(a.inputs, in)
			return name
		}
		if o := a.inputs[i]; o.group != component && o.words == in.words && o.kind == in.kind &&
			o.sensitive == in.sensitive {
			return name
		}
	}
	in.name = uniqueName(full, "_", func(name string) bool {
		return slices.ContainsFunc(a.inputs, func(other input) bool { return other.name == name })
	})
	a.inputs = append(a.inputs, in)
	return in.name
}
