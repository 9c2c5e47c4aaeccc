package appconfig

// checkEchoes warns about a component that reads the outputs of an action which runs because that
// component, or one that depends on it, was deployed. Each run may return a different result;
// then the component is deployed again, which runs the action again. Real apps do this with
// actions that always return the same, so it is a warning.
func (c *checker) checkEchoes() {
	type pair struct{ component, action string }
	told := map[pair]bool{}
	c.deploys = map[string][]string{}
	for _, t := range c.texts {
		if t.stage != atDeploy || t.template == nil || t.idle {
			continue
		}
		for _, use := range t.template.Uses() {
			if len(use.Path) < 3 || !use.Path.HasPrefix("actions", "workflows") {
				continue
			}
			action, this := use.Path[2], pair{t.name, use.Path[2]}
			if c.names.actions[action] == nil || told[this] || c.full() {
				continue
			}
			told[this] = true
			if with, echoes := c.echo(action, t.name); echoes {
				c.warnf(ruleEcho, t.place(use.Line, use.Column, use.Width),
					"read an output of a component instead, or see to it that the action gives the same each time",
					"%s reads outputs of action %s, which runs whenever %s is deployed: it is deployed again whenever what the action gives differs",
					t.name, action, with)
			}
		}
	}
}

// echo returns a component whose deploy runs the action, among the component itself and those
// that are deployed because it was.
func (c *checker) echo(action, component string) (with string, echoes bool) {
	for _, name := range c.deploysOf(action) {
		if name == "" {
			return component, true
		}
		if c.comesAfter(name, component) {
			return name, true
		}
	}
	return "", false
}

// deploysOf returns the components whose deploy runs the action, each once; empty means all of
// them.
func (c *checker) deploysOf(action string) []string {
	if names, known := c.deploys[action]; known {
		return names
	}
	var names []string
	seen := map[string]bool{}
	for _, trigger := range c.names.actions[action].value.Triggers {
		name := trigger.ComponentName
		switch trigger.Type {
		case TriggerPreDeployAll, TriggerPostDeployAll:
			name = ""
		case TriggerPreDeployComponent, TriggerPostDeployComponent:
			if c.names.components[name] == nil {
				continue // reported already
			}
		default:
			continue
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	c.deploys[action] = names
	return names
}
