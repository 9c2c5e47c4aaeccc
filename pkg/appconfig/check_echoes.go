package appconfig

// checkEchoes looks for components that read what an action gives which runs because they were deployed, themselves or by way of
// what needs them. Each run may give something else, and then such a component is deployed again, which runs the action again. Real apps
// do it with actions that give the same each time, so it is a warning.
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
				c.warnf(ruleEcho, t.place(use.Line, use.Column, use.Width), "read an output of a component instead, or see to it that the action gives the same each time",
					"%s reads outputs of action %s, which runs whenever %s is deployed: it is deployed again whenever what the action gives differs", t.name, action, with)
			}
		}
	}
}

// echo gives a component with whose deploy an action runs, of those that are deployed because another one was.
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

// deploysOf gives the components with whose deploy an action runs, each once; empty stands for all.
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
				continue // told already
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
