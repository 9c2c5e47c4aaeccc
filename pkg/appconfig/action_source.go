package appconfig

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// KindActionSource is the kind of the code that steps of actions run from a repository. It is built and
// released like a component, and never deployed: actions run it.
const KindActionSource = "action_source"

// ActionSourceName returns the name under which the code of a step is built, such as actions:scripts or
// actions:acme/tools//deploy@main. No component can have such a name.
func (s Source) ActionSourceName() string {
	if s.IsAppRepository() {
		return "actions:" + s.Directory
	}
	return fmt.Sprintf("actions:%s//%s@%s", s.Repo, strings.ReplaceAll(s.Directory, "@", "@@"), s.Branch)
}

// ActionSources returns the code that steps of actions run from repositories, by name. Steps that name the
// same directory share one.
func (a *App) ActionSources() []Component {
	var all []Component
	for _, action := range a.Actions {
		for _, step := range action.Steps {
			if step.Source == nil {
				continue
			}
			name := step.Source.ActionSourceName()
			i := slices.IndexFunc(all, func(c Component) bool { return c.Name == name })
			if i < 0 {
				source := *step.Source
				all = append(all, Component{Name: name, Kind: KindActionSource, Source: &source})
				continue
			}
			// One step that needs the org's access is enough for all.
			all[i].Source.Connected = all[i].Source.Connected || step.Source.Connected
		}
	}
	slices.SortFunc(all, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Built returns everything that is built of the App: the sandbox and the components that nuon deploys, and the
// code of actions.
func (a *App) Built() []Component {
	deployed := a.Deployed()
	var all []Component
	if deployed.Sandbox != nil {
		all = append(all, *deployed.Sandbox)
	}
	return slices.Concat(all, deployed.Components, a.ActionSources())
}

// Title returns what the component is called in a sentence.
func (c *Component) Title() string {
	if c.Kind == KindActionSource {
		return "source " + c.Name
	}
	return "component " + c.Name
}

// checkCommands returns an error if a step runs a file that the code of actions does not have.
func (a *App) checkCommands(source *Component, tree fs.FS, where string) error {
	for _, action := range a.Actions {
		for _, step := range action.Steps {
			if step.Source == nil || step.Source.ActionSourceName() != source.Name {
				continue
			}
			if err := checkCommand(step.Source.Directory, step.Command, tree, where); err != nil {
				return fmt.Errorf("step %q of action %s: %w", step.Name, action.Name, err)
			}
		}
	}
	return nil
}
