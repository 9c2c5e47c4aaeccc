package appconfig

import "github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"

// checkToggles reports a component that is enabled by default but needs one that is not.
func (c *checker) checkToggles() {
	for _, one := range c.components {
		if one.DefaultEnabled && !one.Toggleable {
			c.warnf(ruleNoEffect, one.table.KeyPlace("default_enabled"),
				"write toggleable = true beside it, or remove it",
				"default_enabled has no effect on a component that cannot be switched off")
		}
		for _, up := range c.lacks(one, nil) {
			c.errorf(ruleToggle, c.edge(one.Name, up).at, "switch "+up+" on too, or "+one.Name+" off",
				"by default %s is on, and %s, which it needs, is off", one.Name, up)
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
		switch one := c.names.components[name]; {
		case one == nil:
			unknown(c, n.Key, "component", name, c.names.components)
		case !one.Toggleable:
			c.errorf(ruleToggle, n.Key, "write toggleable = true in its file, or remove it here",
				"component %q cannot be switched off or on", name)
		}
	}
	for _, one := range c.components {
		for _, up := range c.lacks(one, toggles) {
			if isOn(one, nil) && !isOn(c.names.components[up], nil) {
				continue // the default has the same problem, which checkToggles reports
			}
			at := t.KeyPlace(syntax.Join("component_toggles", up))
			if t.Find(syntax.Join("component_toggles", up)) == nil {
				at = t.KeyPlace(syntax.Join("component_toggles", one.Name))
			}
			c.errorf(ruleToggle, at, "switch "+up+" on too, or "+one.Name+" off",
				"install %q: %s is on, and %s, which it needs, is off", install, one.Name, up)
		}
	}
}

// isOn reports whether a component is enabled on an install with these toggles.
func isOn(one *component, toggles map[string]bool) bool {
	on, said := toggles[one.Name]
	if !said {
		on = one.DefaultEnabled
	}
	return on || !one.Toggleable
}

// lacks returns the disabled components that an enabled component needs.
func (c *checker) lacks(one *component, toggles map[string]bool) []string {
	if !isOn(one, toggles) {
		return nil
	}
	var off []string
	for _, name := range c.needs(one.Name) {
		if up := c.names.components[name]; up != nil && up != one && !isOn(up, toggles) {
			off = append(off, name)
		}
	}
	return off
}
