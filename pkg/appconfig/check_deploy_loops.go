package appconfig

// checkDeployLoops warns about a component that reads the outputs of an action which runs because that
// component, or one that depends on it, was deployed. Each run may return a different result;
// then the component is deployed again, which runs the action again. Real apps do this with
// actions that always return the same, so it is a warning.
func (c *checker) checkDeployLoops() {
	type pair struct{ component, action string }
	reported := map[pair]bool{}
	c.deploys = map[string][]string{}
	for _, t := range c.texts {
		if t.stage != stageDeploy || t.template == nil || t.noEffectYet {
			continue
		}
		for _, use := range t.template.Uses() {
			if len(use.Path) < 3 || !use.Path.HasPrefix("actions", "workflows") {
				continue
			}
			action, this := use.Path[2], pair{t.name, use.Path[2]}
			if c.names.actions[action] == nil || reported[this] || c.full() {
				continue
			}
			reported[this] = true
			if cause, loops := c.deployLoop(action, t.name); loops {
				c.warnf(ruleDeployLoop, t.position(use.Line, use.Column, use.Width),
					"read an output of a component instead, or see to it that the action gives the same each time",
					"%s reads outputs of action %s, which runs whenever %s is deployed: it is deployed again whenever what the "+
						"action gives differs",
					t.name, action, cause)
			}
		}
	}
}

// deployLoop returns a component whose deploy runs the action, among the component itself and those
// that are deployed because it was.
func (c *checker) deployLoop(action, component string) (cause string, loops bool) {
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
