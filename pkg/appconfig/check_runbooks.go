package appconfig

import (
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// stepKeys are the keys besides name and type that have an effect in a step of a runbook, by type:
// section 11.3.
var stepKeys = map[string][]string{
	"component_deploy":    {"component_name", "deploy_dependents", "plan_only"},
	"component_tear_down": {"component_name", "tear_down_dependents", "plan_only"},
	"action": {"action_name", "command", "inline_contents", "env_vars", "timeout", "role", "public_repo",
		"connected_repo"},
	"sandbox_reprovision": {"skip_component_deploys", "plan_only"},
	"sandbox_deprovision": {"plan_only"},
}

// adHocKeys define what a step runs if it names no action of the app.
var adHocKeys = []string{"command", "inline_contents", "env_vars", "timeout", "role", "public_repo", "connected_repo"}

// checkRunbooks checks the steps of each runbook.
func (c *checker) checkRunbooks() {
	for _, e := range c.runbooks {
		for i := range e.value.Steps {
			c.checkRunbookStep(e.table, syntax.JoinIndex("steps", i), &e.value.Steps[i])
		}
		if !has(e.table, "steps") && !has(e.table, "cells") {
			c.errorf(ruleMissingKey, e.table.At, "", `"steps" is missing`)
		}
		c.checkEmpty(e.table, "steps")
	}
}

func (c *checker) checkRunbookStep(t *syntax.Table, path string, step *format.RunbookStep) {
	fit, known := stepKeys[step.Type]
	if !known {
		return // reported already
	}
	for name, n := range t.Find(path).Table().Each {
		if name != "name" && name != "type" && name != "labels" && !slices.Contains(fit, name) && isStepKey(name) {
			c.warnf(ruleNoEffect, n.Key, "remove it",
				"%s: %s has no effect on a step of type %s", path, name, step.Type)
		}
	}
	switch step.Type {
	case "component_deploy", "component_tear_down":
		if step.ComponentName == "" {
			c.errorf(ruleMissingKey, t.Position(path+".type"), "",
				`step %s: "component_name" is missing`, diagnostic.Quote(step.Name))
		} else if c.names.components[step.ComponentName] == nil {
			reportUnknown(c, t.Position(path+".component_name"), "component", step.ComponentName, c.names.components)
		}
	case "action":
		c.checkActionStep(t, path, step)
	}
}

// isStepKey reports whether a key belongs to any type of step: other keys are reported when the
// file is read.
func isStepKey(name string) bool {
	for _, keys := range stepKeys {
		if slices.Contains(keys, name) {
			return true
		}
	}
	return false
}

// checkActionStep requires an action of the app, or the step's own script or command.
func (c *checker) checkActionStep(t *syntax.Table, path string, step *format.RunbookStep) {
	own := ""
	for _, key := range adHocKeys {
		if n := t.Find(path + "." + key); n != nil && own == "" {
			own = key
		}
	}
	script := t.Find(path+".inline_contents") != nil || t.Find(path+".command") != nil
	switch {
	case step.ActionName != "" && script:
		c.errorf(ruleChooseOne, t.KeyPosition(path+".action_name"), "keep one of them",
			"step %s has both action_name and a script or command", diagnostic.Quote(step.Name))
	case step.ActionName != "" && own != "" && own != "env_vars" && own != "timeout" && own != "role":
		c.warnf(ruleNoEffect, t.KeyPosition(path+"."+own), "remove it",
			"%s: %s has no effect: the step runs action %s", path, own, diagnostic.Quote(step.ActionName))
	case step.ActionName == "" && !script:
		c.errorf(ruleChooseOne, t.Position(path), "add one of them",
			"step %s has neither action_name nor a script or command", diagnostic.Quote(step.Name))
	}
	if step.ActionName != "" {
		if c.names.actions[step.ActionName] == nil {
			reportUnknown(c, t.Position(path+".action_name"), "action", step.ActionName, c.names.actions)
		}
	} else if script {
		c.checkScript(t, path, step.Name, step.InlineContents, step.Repositories)
	}
	c.checkRoleName(t, path+".role", step.Role)
}
