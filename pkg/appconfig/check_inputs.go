package appconfig

import (
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// checkInputs checks the inputs of the app: section 8.1.
func (c *checker) checkInputs() {
	for _, e := range c.inputs {
		c.checkGroup(e)
		input := &e.value
		if input.Default == nil {
			continue
		}
		at := e.table.Position("default")
		if problem := (&Input{Type: input.Type}).Check(*input.Default); problem != "" {
			c.errorf(ruleInputValue, at, "", "the default of input %q %s", input.Name, problem)
		}
		if input.Sensitive && *input.Default != "" {
			c.warnf(ruleSensitive, at, "remove the default and set it per install",
				"input %q is sensitive, but its default can be read by everyone who can read this file", input.Name)
		}
	}
}

func (c *checker) checkGroup(e *entry[format.Input]) {
	group := e.value.Group
	if group == "" || c.names.groups[group] != nil || c.unreadable.has(group) {
		return
	}
	hint := c.nearestHint(group, keysOf(c.names.groups))
	if hint == "" {
		hint = "add a [[group]] with that name"
	}
	c.errorf(ruleUnknownName, e.table.Position("group"), hint, "there is no input group %s", diagnostic.Quote(group))
}
