package appconfig

import "github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"

// checkToggles sees to it that what is there by default needs nothing that is not.
func (c *checker) checkToggles() {
	for _, one := range c.components {
		if one.DefaultEnabled && !one.Toggleable {
			c.warnf(ruleNoEffect, one.table.KeyPlace("default_enabled"), "write toggleable = true beside it, or remove it",
				"default_enabled has no effect on a component that cannot be switched off")
		}
		for _, up := range c.lacks(one, nil) {
			c.errorf(ruleToggle, c.edge(one.Name, up).at, "switch "+up+" on too, or "+one.Name+" off",
				"by default %s is on, and %s, which it needs, is off", one.Name, up)
		}
	}
}

// checkInstallToggles compares what an install switches with what may be switched.
func (c *checker) checkInstallToggles(t *syntax.Table, install string, toggles map[string]bool) {
	if len(toggles) == 0 {
		return
	}
	for name, n := range t.Get("component_toggles").Table().Each {
		switch one := c.names.components[name]; {
		case one == nil:
			unknown(c, n.Key, "component", name, c.names.components)
		case !one.Toggleable:
			c.errorf(ruleToggle, n.Key, "write toggleable = true in its file, or remove it here", "component %q cannot be switched off or on", name)
		}
	}
	for _, one := range c.components {
		for _, up := range c.lacks(one, toggles) {
			if isOn(one, nil) && !isOn(c.names.components[up], nil) {
				continue // it is so by default, and told there
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

// isOn says whether a component is there on an install with these toggles.
func isOn(one *component, toggles map[string]bool) bool {
	on, said := toggles[one.Name]
	if !said {
		on = one.DefaultEnabled
	}
	return on || !one.Toggleable
}

// lacks gives the components that one needs and that are off while it is on.
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
