package appconfig

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

// runnerStackOutputs are outputs of the runner's part of a stack on AWS, which no template reads.
var runnerStackOutputs = []string{"runner_security_group_id", "runner_instance_profile", "runner_asg_name",
	"runner_log_group_name", "telemetry_endpoint"}

// StackOutputType returns the type that a stack output must have: PathText, PathList, PathObject or PathAny.
func StackOutputType(name string) PathType {
	ref := render.Path{"install_stack", "outputs", name}
	for _, path := range PathsOf(ref) {
		switch {
		case len(path.keys) > len(ref):
			return PathObject
		case !isVariable(path.keys[len(ref)-1]) || path.keys[len(ref)-1] == "SECRET_arn":
			return path.Type
		}
	}
	return PathAny
}

// CheckStackOutput returns what is wrong with a value of a stack output, or "". The value is of the types that
// encoding/json decodes to.
func CheckStackOutput(name string, value any) string {
	switch StackOutputType(name) {
	case PathText:
		if _, ok := value.(string); !ok {
			return "is not a text"
		}
	case PathList:
		list, ok := value.([]any)
		if !ok || slices.ContainsFunc(list, func(item any) bool { _, text := item.(string); return !text }) {
			return `is not a list of texts, such as ["subnet-1","subnet-2"]`
		}
	case PathObject:
		if _, ok := value.(map[string]any); !ok {
			return `is not a map, such as {"NAME":"VALUE"}`
		}
	}
	return ""
}

// StackOutputs returns the names of the outputs that the app's stack can have; none if the app has no stack.toml,
// or no cloud is stated. With open, the stack can have others, too: those of its modules.
func (a *App) StackOutputs() (names []string, open bool) {
	if a.Stack == nil {
		return nil, true
	}
	cloud := a.Cloud()
	if cloud == "" {
		return nil, true
	}
	known := map[string]bool{}
	for _, name := range slices.Concat(stackOutputs()[cloud], sharedStackOutputs()) {
		known[name] = true
	}
	if cloud == cloudAWS {
		for _, name := range runnerStackOutputs {
			known[name] = true
		}
	}
	for _, secret := range a.Secrets {
		known[secret.Name+"_arn"] = true
	}
	return slices.Sorted(maps.Keys(known)), cloud == cloudGCP
}

// StackOutputsRead returns the stack outputs that the templates of components and actions read by name, each with
// its readers in order.
func (a *App) StackOutputsRead() map[string][]string {
	return a.readersBelow("install_stack", "outputs")
}

// VariablesRead is StackOutputsRead for the variables of the app.
func (a *App) VariablesRead() map[string][]string { return a.readersBelow("app", "variables") }

// readersBelow returns the names directly below a path of two keys that templates read, each with its readers in order.
func (a *App) readersBelow(path ...string) map[string][]string {
	all := map[string][]string{}
	a.eachReader(func(reader string, refs []render.Path) {
		for _, ref := range refs {
			if len(ref) > len(path) && ref.HasPrefix(path...) && !slices.Contains(all[ref[2]], reader) {
				all[ref[2]] = append(all[ref[2]], reader)
			}
		}
	})
	return all
}

// StackOutputRefs returns the paths below .nuon of the stack outputs that the templates of components and actions read.
func (a *App) StackOutputRefs() []render.Path {
	var all []render.Path
	a.eachReader(func(_ string, refs []render.Path) {
		for _, ref := range refs {
			if ref.HasPrefix("install_stack", "outputs") {
				all = append(all, ref)
			}
		}
	})
	return all
}

// eachReader calls add with the name and the refs of the sandbox, each component and each action.
func (a *App) eachReader(add func(reader string, refs []render.Path)) {
	if a.Sandbox != nil {
		add(SandboxName, a.Sandbox.Refs())
	}
	for i := range a.Components {
		add(a.Components[i].Name, a.Components[i].Refs())
	}
	for i := range a.Actions {
		add(fmt.Sprintf("action %s", a.Actions[i].Name), a.Actions[i].Refs())
	}
}
