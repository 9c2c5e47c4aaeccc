package appconfig

import "github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"

// checkToggles reports a component that is enabled by default but needs one that is not.
func (c *checker) checkToggles() {
	for _, comp := range c.components {
		if comp.DefaultEnabled && !comp.Toggleable {
			c.warnf(ruleNoEffect, comp.table.KeyPosition("default_enabled"),
				"write toggleable = true beside it, or remove it",
				"default_enabled has no effect on a component that cannot be switched off")
		}
		for _, need := range c.disabledNeeds(comp, nil) {
			c.errorf(ruleToggle, c.edge(comp.Name, need).at, "switch "+need+" on too, or "+comp.Name+" off",
				"by default %s is on, and %s, which it needs, is off", comp.Name, need)
		}
	}
}

// checkInstallToggles checks that an install toggles only toggleable components and that no enabled
// component needs a disabled one.
func (c *checker) checkInstallToggles(t *syntax.Table, install string, toggles map[string]bool) {
	if len(toggles) == 0 {
		return
	}
	for name, n := range t.Get("component_toggles").Table().Each {
		switch comp := c.names.components[name]; {
		case comp == nil:
			reportUnknown(c, n.Key, "component", name, c.names.components)
		case !comp.Toggleable:
			c.errorf(ruleToggle, n.Key, "write toggleable = true in its file, or remove it here",
				"component %q cannot be switched off or on", name)
		}
	}
	for _, comp := range c.components {
		for _, need := range c.disabledNeeds(comp, toggles) {
			if isOn(comp, nil) && !isOn(c.names.components[need], nil) {
				continue // the default has the same problem, which checkToggles reports
			}
			at := t.KeyPosition(syntax.Join("component_toggles", need))
			if t.Find(syntax.Join("component_toggles", need)) == nil {
				at = t.KeyPosition(syntax.Join("component_toggles", comp.Name))
			}
			c.errorf(ruleToggle, at, "switch "+need+" on too, or "+comp.Name+" off",
				"install %q: %s is on, and %s, which it needs, is off", install, comp.Name, need)
		}
	}
}

// isOn reports whether a component is enabled on an install with these toggles.
func isOn(comp *component, toggles map[string]bool) bool {
	return isEnabled(comp.Name, comp.Toggleable, comp.DefaultEnabled, toggles)
}

// disabledNeeds returns the disabled components that an enabled component needs.
func (c *checker) disabledNeeds(comp *component, toggles map[string]bool) []string {
	if !isOn(comp, toggles) {
		return nil
	}
	var off []string
	for _, name := range c.needs(comp.Name) {
		if need := c.names.components[name]; need != nil && need != comp && !isOn(need, toggles) {
			off = append(off, name)
		}
	}
	return off
}
