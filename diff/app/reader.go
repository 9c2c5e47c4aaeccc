package app

import (
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// readers indexes which components of a config read what. It parses all templates once, on first
// use.
type readers struct {
	app *appconfig.App

	components map[string]*appconfig.Component
	outputs    map[string][]string // maps a component to those that read its outputs
	// maps an input to the components that read it; "" to those that read all inputs
	inputs map[string][]string
}

// allInputs stands for a template that reads all inputs at once.
const allInputs = ""

func (r *readers) read() {
	if r.components != nil {
		return
	}
	r.components, r.outputs, r.inputs = map[string]*appconfig.Component{}, map[string][]string{}, map[string][]string{}
	if r.app.Sandbox != nil {
		r.addComponent(appconfig.SandboxName, r.app.Sandbox)
	}
	for i := range r.app.Components {
		r.addComponent(r.app.Components[i].Name, &r.app.Components[i])
	}
	for _, edge := range r.app.Edges() {
		if strings.HasPrefix(edge.Why, "reads ") {
			r.outputs[edge.To] = append(r.outputs[edge.To], edge.From)
		}
	}
}

// addComponent records what a component reads besides the outputs of others.
func (r *readers) addComponent(name string, c *appconfig.Component) {
	r.components[name] = c
	for _, path := range c.Refs() {
		switch {
		case len(path) == 0:
		case path[0] == appconfig.SandboxName:
			r.outputs[appconfig.SandboxName] = append(r.outputs[appconfig.SandboxName], name)
		case path[0] == "inputs" && len(path) > 2:
			r.inputs[path[2]] = append(r.inputs[path[2]], name)
		case path[0] == "inputs":
			r.inputs[allInputs] = append(r.inputs[allInputs], name)
		}
	}
}

// component returns the component with a name, or the sandbox.
func (r *readers) component(name string) (*appconfig.Component, bool) {
	r.read()
	c, exists := r.components[name]
	return c, exists
}

// ofOutputs returns the sorted components that may need a new plan when the outputs of a component change:
// those that read its outputs, directly or through others.
func (r *readers) ofOutputs(name string) []string {
	r.read()
	found := map[string]bool{}
	next := slices.Clone(r.outputs[name])
	for len(next) > 0 {
		one := next[0]
		if next = next[1:]; !found[one] && one != name {
			found[one] = true
			next = append(next, r.outputs[one]...)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// ofInput returns the sorted components that read an input, including the sandbox.
func (r *readers) ofInput(name string) []string {
	r.read()
	names := slices.Concat(r.inputs[name], r.inputs[allInputs])
	slices.Sort(names)
	return slices.Compact(names)
}
