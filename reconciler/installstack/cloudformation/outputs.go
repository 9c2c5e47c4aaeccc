package cloudformation

import (
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// output is an output of the stack. Its description is its path below .nuon.install_stack.outputs, because the names of
// outputs may have only letters and digits.
type output struct {
	path, condition string
	value           any
}

// addOutput adds an output. With a condition, the stack has it only where that is true.
func (t *template) addOutput(path string, value any, condition string) {
	t.outputs = append(t.outputs, output{path, condition, value})
}

func (t *template) encodeOutputs() object {
	all := object{}
	paths := make([]string, len(t.outputs))
	for i, o := range t.outputs {
		paths[i] = o.path
	}
	for i, id := range installstack.IDs(paths) {
		o := object{"Description": t.outputs[i].path, "Value": t.outputs[i].value}
		if t.outputs[i].condition != "" {
			o["Condition"] = t.outputs[i].condition
		}
		all[id] = o
		if len(t.outputs[i].path) > 1024 {
			t.errorf("stack", "choose a shorter name", "the output %.60q cannot be described", t.outputs[i].path)
		}
	}
	return all
}
