package appconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// checkActions checks each action and the names that it refers to.
func (c *checker) checkActions() {
	for _, action := range c.actions {
		for i := range action.value.Triggers {
			c.checkTrigger(action.table, syntax.JoinIndex("triggers", i), &action.value.Triggers[i])
		}
		c.checkSteps(action)
		c.checkActionInputs(action)
		c.checkContext(action.table, action.value.KubernetesContext)
		c.checkActionRoles(action)
	}
}

func (c *checker) checkEmpty(t *syntax.Table, key string) {
	if n := t.Get(key); n != nil {
		if items, ok := n.Items(); ok && len(items) == 0 {
			c.errorf(ruleEmptyList, n.Key, "", "%q must not be empty", key)
		}
	}
}

func (c *checker) checkTrigger(t *syntax.Table, path string, trigger *format.Trigger) {
	at := t.Position(path + ".type")
	of, known := triggerTypes[trigger.Type]
	switch {
	case trigger.Type == "":
		return // reported already
	case slices.Contains(removedTriggerTypes, trigger.Type):
		before, _, _ := strings.Cut(trigger.Type, "-")
		c.warnf(ruleRemovedValue, at,
			"write "+diagnostic.Quote(before+"-provision")+" or "+diagnostic.Quote(before+"-reprovision"),
			"%s: %s was removed from the format and never fires", path, trigger.Type)
		return
	case !known:
		types := slices.Sorted(maps.Keys(triggerTypes))
		hint := c.nearestHint(trigger.Type, types)
		if hint == "" {
			hint = "one of " + strings.Join(types, ", ")
		}
		c.errorf(ruleWrongValue, at, hint, "%s: there is no trigger type %s", path, diagnostic.Quote(trigger.Type))
		return
	}
	c.checkTriggerComponent(t, path, trigger, of.needsComponent)
	if !of.supported {
		c.warnf(ruleNoEffectYet, at, "", noEffectYetPrefix+"trigger %s", trigger.Type)
	}
	switch {
	case trigger.Type == TriggerCron && trigger.CronSchedule == "" && t.Find(path+".schedule") == nil:
		c.errorf(ruleTrigger, at, `for example "0 3 * * *"`, `%s: "cron_schedule" is missing`, path)
	case trigger.Type != TriggerCron && trigger.CronSchedule != "":
		c.warnf(ruleNoEffect, t.KeyPosition(path+".cron_schedule"), `remove it, or write type = "cron"`,
			"%s: cron_schedule has no effect: %s is not a schedule", path, trigger.Type)
	}
	if trigger.Index < 0 {
		c.errorf(ruleWrongValue, t.Position(path+".index"), "write 0 or more", "%s: an index is not negative", path)
	}
}

// checkTriggerComponent checks the component that a trigger names.
func (c *checker) checkTriggerComponent(t *syntax.Table, path string, trigger *format.Trigger, wanted bool) {
	at := t.Position(path + ".component_name")
	comp := c.names.components[trigger.ComponentName]
	switch {
	case wanted && trigger.ComponentName == "":
		c.errorf(ruleTrigger, t.Position(path+".type"), "",
			`%s: "component_name" is missing: %s is about one component`, path, trigger.Type)
	case wanted && comp == nil && c.unreadable.has(trigger.ComponentName): // reported already
	case wanted && comp == nil:
		c.errorf(ruleUnknownName, at, c.nearestHint(trigger.ComponentName, keysOf(c.names.components)),
			"the trigger names the component %s, which does not exist", diagnostic.Quote(trigger.ComponentName))
	case !wanted && trigger.ComponentName != "":
		c.warnf(ruleNoEffect, at, "remove it",
			"%s: component_name has no effect: %s is not about one component", path, trigger.Type)
	case wanted && (comp.image != nil || comp.build != nil) && strings.Contains(trigger.Type, "-teardown-"):
		c.warnf(ruleNoEffect, at, "remove the trigger",
			"%s: %s never fires: component %q is an image, which is not torn down", path, trigger.Type,
			trigger.ComponentName)
	case wanted && isToggle(trigger.Type) && !comp.Toggleable:
		c.warnf(ruleNoEffect, at, "write toggleable = true in its file, or remove the trigger",
			"%s: %s never fires: component %q cannot be switched off or on", path, trigger.Type, trigger.ComponentName)
	}
}

func isToggle(trigger string) bool {
	return strings.HasSuffix(trigger, "-enable-component") || strings.HasSuffix(trigger, "-disable-component")
}

func (c *checker) checkSteps(action *entry[format.Action]) {
	var list []declaredName
	for i := range action.value.Steps {
		step, path := &action.value.Steps[i], syntax.JoinIndex("steps", i)
		at := action.table.Position(path + ".name")
		c.checkName("step", titleName, step.Name, at)
		list = append(list, declaredName{step.Name, at})
		c.checkScript(action.table, path, step.Name, step.InlineContents, step.Repositories)
		command, inline := action.table.Find(path+".command"), action.table.Find(path+".inline_contents")
		switch {
		case inline == nil && command == nil:
			c.errorf(ruleChooseOne, action.table.Position(path), "add one of them",
				"step %s has neither inline_contents nor command", diagnostic.Quote(step.Name))
		case command != nil && inline == nil && has(action.table, "image"):
			c.errorf(ruleChooseOne, command.Key, "write the script as inline_contents",
				"step %s has a command: with an image, an action runs scripts only", diagnostic.Quote(step.Name))
		case command != nil && inline == nil && step.PublicRepo == nil && step.ConnectedRepo == nil:
			c.errorf(ruleMissingKey, action.table.Position(path),
				"name the repository that holds the program, or use inline_contents",
				"step %s has a command, and [steps.public_repo] or [steps.connected_repo] is missing",
				diagnostic.Quote(step.Name))
		}
	}
	c.checkUnique("step", list)
}

// checkActionInputs checks the parameters of an action.
func (c *checker) checkActionInputs(action *entry[format.Action]) {
	variables := map[string]string{}
	for i := range action.value.Inputs {
		input, path := &action.value.Inputs[i], syntax.JoinIndex("inputs", i)
		at := action.table.Position(path + ".name")
		if i == maxActionInputs {
			c.errorf(ruleTooMany, at, "give structured values as one json input",
				"an action has at most %d inputs", maxActionInputs)
			return
		}
		c.checkName("input", inputName, input.Name, at)
		typed := ActionInput{Name: input.Name, Type: input.Type, Required: input.Required}
		if other, taken := variables[typed.Variable()]; taken && input.Name != "" {
			if other == input.Name {
				c.errorf(ruleDuplicateName, at, "rename one of them",
					"input %s is declared twice", diagnostic.Quote(other))
			} else {
				c.errorf(ruleDuplicateName, at, "rename one of them",
					"%s: %s and %s would both be the variable %s", path, other, input.Name, typed.Variable())
			}
			continue
		}
		variables[typed.Variable()] = input.Name
		if input.Default == nil {
			c.checkUnattendedInput(action, input, at)
			continue
		}
		if problem := typed.Check(*input.Default); problem != "" {
			c.errorf(ruleInputValue, action.table.Position(path+".default"), "",
				"%s: the default of input %s %s", path, input.Name, problem)
		}
	}
}

// checkUnattendedInput reports a required input of an action that also runs without a person to set it.
func (c *checker) checkUnattendedInput(action *entry[format.Action], input *format.ActionInput, at syntax.Position) {
	i := slices.IndexFunc(action.value.Triggers,
		func(t format.Trigger) bool { return t.Type != TriggerManual && triggerTypes[t.Type].supported })
	if i >= 0 && input.Required {
		c.warnf(ruleUnattendedInput, at, "give it a default",
			"input %s is required, and nobody gives it when the action runs by %s: it would fail", input.Name,
			action.value.Triggers[i].Type)
	}
}

// checkActionRoles checks the roles that an action runs with.
func (c *checker) checkActionRoles(action *entry[format.Action]) {
	c.checkRoleName(action.table, "role", action.value.Role)
	c.checkRoleName(action.table, "break_glass_role", action.value.BreakGlassRole)
	if action.value.BreakGlassRole == "" {
		return
	}
	at := action.table.KeyPosition("break_glass_role")
	if action.value.Role != "" {
		c.errorf(ruleChooseOne, at, "keep role", "both role and break_glass_role are given")
		return
	}
	for i, trigger := range action.value.Triggers {
		if !slices.Contains([]string{"", TriggerManual, "role-enabled", "role-disabled"}, trigger.Type) {
			c.warnf(ruleNoEffect, action.table.Position(syntax.JoinIndex("triggers", i)+".type"),
				"remove it, or write role with a standing role",
				"triggers[%d]: %s starts nothing: only a person may start what runs with a break-glass role", i,
				trigger.Type)
			return
		}
	}
}
