package installs

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// describedStack is a stack as AWS describes it. The description of an output is its path, because names of outputs may
// have only letters and digits.
type describedStack struct {
	Outputs []struct{ OutputValue, Description string }
}

// parseDescribedStacks reads the outputs of the stack that "aws cloudformation describe-stacks" printed.
func parseDescribedStacks(raw json.RawMessage) (map[string]api.OutputValue, error) {
	var stacks []describedStack
	if err := json.Unmarshal(raw, &stacks); err != nil || len(stacks) != 1 {
		return nil, errors.New("it does not describe one stack; use aws cloudformation describe-stacks --stack-name NAME")
	}
	values := map[string]any{}
	for _, o := range stacks[0].Outputs {
		name, rest, deep := strings.Cut(o.Description, ".")
		kind := appconfig.StackOutputType(name)
		switch {
		case name == "":
		case deep && kind == appconfig.PathObject:
			object, _ := values[name].(map[string]any)
			if object == nil {
				object = map[string]any{}
				values[name] = object
			}
			addDescribed(object, name, rest, o.OutputValue)
		case kind == appconfig.PathList:
			values[name] = strings.Split(o.OutputValue, ",")
		case kind == appconfig.PathText && o.OutputValue != "":
			values[name] = o.OutputValue
		}
	}
	if len(values) == 0 {
		return nil, errors.New("the stack that it describes has no outputs of a stack of nuon")
	}
	all := map[string]api.OutputValue{}
	for name, value := range values {
		encoded, _ := json.Marshal(value) // texts, lists and maps of texts
		all[name] = api.OutputValue{Name: name, Value: encoded}
	}
	return all, nil
}

// addDescribed adds a value below an output that is a map. Only outputs of nested stacks are deeper than one level; the
// names of roles can have dots.
func addDescribed(object map[string]any, output, path, value string) {
	if output != "custom_nested_stacks" {
		object[path] = value
		return
	}
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		below, is := object[key].(map[string]any)
		if !is {
			below = map[string]any{}
			object[key] = below
		}
		object = below
	}
	object[keys[len(keys)-1]] = value
}
