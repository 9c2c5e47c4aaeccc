package appconfig

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// overridesIn iterates over the texts that override values of components in an install file, except those that
// checkInstallComponents refuses for their place.
func (c *checker) overridesIn(e *entry[format.Install]) iter.Seq2[*component, fragment] {
	return func(yield func(*component, fragment) bool) {
		for name, values := range e.table.Get("components").Table().Each {
			comp := c.names.components[name]
			if comp == nil || values.Table() == nil {
				continue
			}
			for key, value := range values.Table().Each {
				text, isText := value.Text()
				if !isText || overriddenKinds[key] != comp.Type {
					continue
				}
				path := syntax.Join(syntax.Join("components", name), key)
				f := fragment{owner: "install " + e.value.Name, path: path, text: text, node: value}
				if !yield(comp, f) {
					return
				}
			}
		}
	}
}

// checkInstallComponents checks the values of components that an install overrides.
func (c *checker) checkInstallComponents(e *entry[format.Install]) {
	n := e.table.Get("components")
	if n == nil {
		return
	}
	if n.Table() == nil {
		c.errorf(ruleWrongValue, n.At, "write [components.NAME]", "components must be a table of tables, not %s", n.Kind())
		return
	}
	for name, values := range n.Table().Each {
		comp := c.names.components[name]
		switch {
		case comp == nil:
			reportUnknown(c, values.Key, "component", name, c.names.components)
		case values.Table() == nil:
			c.errorf(ruleWrongValue, values.At, "write [components."+name+"]", "components.%s must be a table, not %s", name,
				values.Kind())
		default:
			for key, value := range values.Table().Each {
				c.checkOverrideKey(comp, key, value)
			}
		}
	}
	for comp, f := range c.overridesIn(e) {
		switch {
		case len(f.text) > maxOverrideBytes:
			c.errorf(ruleWrongValue, f.node.At, "", "%s is larger than %d KiB", f.path, maxOverrideBytes>>10)
		case strings.ContainsRune(f.text, 0):
			c.errorf(ruleWrongValue, f.node.At, "remove it", "%s holds a NUL character", f.path)
		case comp.chart != nil:
			c.checkValuesYAML(&f)
		default:
			c.checkOverriddenVariables(comp, &f)
		}
	}
}

// checkOverrideKey checks the place of one override: its key, the kind of its component, and that it is a text.
func (c *checker) checkOverrideKey(comp *component, key string, value *syntax.Node) {
	kind, known := overriddenKinds[key]
	_, isText := value.Text()
	switch {
	case !known:
		c.errorf(ruleWrongValue, value.Key, c.nearestHint(key, keysOf(overriddenKinds)),
			"an install cannot override %s of a component; it can override helm_values and tf_vars", diagnostic.Quote(key))
	case kind != comp.Type:
		c.errorf(ruleWrongValue, value.Key, "remove it", "component %q is a %s and has no %s", comp.Name, comp.Type, key)
	case !isText:
		c.errorf(ruleWrongValue, value.At, "", "components.%s.%s must be a string, not %s", comp.Name, key, value.Kind())
	}
}

// checkOverriddenVariables checks a tfvars text: its syntax, and that the component's module, if it is in the
// repository of the config, declares the variables. A text that is HCL or JSON only once it is rendered is not checked.
func (c *checker) checkOverriddenVariables(comp *component, f *fragment) {
	set, err := tfmodule.Assignments(keyTFVars, []byte(f.text))
	switch {
	case err != nil && strings.Contains(f.text, "{{"):
		return
	case err != nil:
		c.errorf(ruleWrongValue, f.node.At, "", "components.%s.%s", comp.Name, err)
		return
	case c.modules[comp.Name] == nil:
		return
	}
	module := c.modules[comp.Name]
	var names []string
	for _, variable := range module.Variables {
		names = append(names, variable.Name)
	}
	for _, assignment := range set {
		if !slices.Contains(names, assignment.Name) {
			c.errorf(ruleModuleVariable, f.position(assignment.Line, assignment.Column, len(assignment.Name)),
				c.nearest.hintOr(assignment.Name, names, "remove it, or declare the variable in the module"), "%s: %s", f.path,
				fmt.Sprintf("the module in %s has no variable %s", module.Dir, diagnostic.Quote(assignment.Name)))
		}
	}
}
