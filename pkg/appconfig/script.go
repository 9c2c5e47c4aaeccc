package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// actionFile is one file of actions/.
type actionFile struct {
	named
	triggers []named  // the components that triggers name
	deploys  []string // those of them with whose deploy it runs
	always   bool     // it runs with every deploy
}

func (l *loader) action(file string, root *table) {
	idle, at := l.check(file, "", root, actionKeys)
	l.checkName(file, root, "action", actionName)
	a := Action{
		Name: root.text("name"), Description: root.text("description"), Timeout: root.text("timeout"), KubeConfig: root.flag("enable_kube_config"),
	}
	if a.Timeout == "" {
		a.Timeout = DefaultActionTimeout
	}
	f := &actionFile{named: named{a.Name, file, root.place("name")}}
	for i, t := range root.tables("triggers") {
		trigger, works := l.trigger(file, t, i, f)
		a.Triggers = append(a.Triggers, trigger)
		if !works {
			if len(idle) == 0 {
				at = t.place("type")
			}
			idle = append(idle, "trigger "+trigger.Type)
		}
	}
	for i, t := range root.tables("steps") {
		a.Steps = append(a.Steps, l.step(file, t, i, "action "+a.Name))
	}
	a.Inputs = l.actionInputs(file, root)
	l.checkAsked(file, root, &a)
	l.checkEmptyLists(file, root)
	if n, ok := root.keys["break_glass_role"]; ok {
		l.warnf(file, n.key, "write role", "break_glass_role is the older name of role")
	}
	l.sayIdle(file, at, idle)
	l.app.Actions = append(l.app.Actions, a)
	l.actions = append(l.actions, f)
}

func (l *loader) checkEmptyLists(file string, root *table) {
	for _, key := range []string{"triggers", "steps"} {
		if n, ok := root.keys[key]; ok && len(root.tables(key)) == 0 {
			l.errorf(file, n.key, "", "%q must not be empty", key)
		}
	}
}

// trigger reads one trigger. works is false for types that have no effect yet.
func (l *loader) trigger(file string, t *table, i int, f *actionFile) (trigger Trigger, works bool) {
	trigger = Trigger{
		Type: t.text("type"), ComponentName: t.text("component_name"),
		CronSchedule: t.text("cron_schedule"), Index: t.number("index"),
	}
	at := t.place("type")
	if current, ok := oldTriggerTypes[trigger.Type]; ok {
		l.warnf(file, at, fmt.Sprintf("write %q", current), "triggers[%d]: %s is the older name", i, trigger.Type)
		trigger.Type = current
	}
	of, known := triggerTypes[trigger.Type]
	switch {
	case trigger.Type == "":
		return trigger, true // told already
	case slices.Contains(goneTriggerTypes, trigger.Type):
		l.warnf(file, at, "remove it", "triggers[%d]: %s was removed from the format and never fires", i, trigger.Type)
		return trigger, true
	case !known:
		hint := didYouMean(trigger.Type, slices.Collect(maps.Keys(triggerTypes)))
		l.errorf(file, at, hint, "triggers[%d]: there is no trigger type %s", i, quoteShort(trigger.Type))
		return trigger, true
	}
	switch {
	case of.component && trigger.ComponentName == "":
		l.errorf(file, at, "", `triggers[%d]: "component_name" is missing: %s is about one component`, i, trigger.Type)
	case of.component:
		f.triggers = append(f.triggers, named{trigger.ComponentName, file, t.place("component_name")})
		if trigger.Type == TriggerPreDeployComponent || trigger.Type == TriggerPostDeployComponent {
			f.deploys = append(f.deploys, trigger.ComponentName)
		}
	case trigger.ComponentName != "":
		l.warnf(file, t.place("component_name"), "remove it", "triggers[%d]: component_name has no effect: %s is not about one component", i, trigger.Type)
	}
	if trigger.Type == "cron" && trigger.CronSchedule == "" && t.keys["schedule"] == nil {
		l.errorf(file, at, `for example "0 3 * * *"`, `triggers[%d]: "cron_schedule" is missing`, i)
	}
	f.always = f.always || trigger.Type == TriggerPreDeployAll || trigger.Type == TriggerPostDeployAll
	return trigger, of.works
}

func (l *loader) step(file string, t *table, i int, owner string) ActionStep {
	at := fmt.Sprintf("steps[%d].", i)
	l.checkName(file, t, "step", stepName)
	script := l.inline(file, t, "inline_contents")
	step := ActionStep{
		Name:           t.text("name"),
		InlineContents: script.text,
		Command:        t.text("command"),
		EnvVars:        l.templates(file, t, "env_vars", at+"env_vars", owner),
		Source:         l.source(file, t),
	}
	l.checkVariableNames(file, t, "env_vars")
	_, inline := t.keys["inline_contents"]
	_, command := t.keys["command"]
	switch {
	case inline && command:
		l.errorf(file, t.place("command"), "keep one of them", "steps[%d]: both inline_contents and command are given", i)
	case inline:
		l.addFragment(owner, at+"inline_contents", script)
	case command:
		l.addFragment(owner, at+"command", content{text: step.Command, file: file, node: t.keys["command"]})
		if strings.TrimSpace(step.Command) == "" {
			l.errorf(file, t.place("command"), "", "steps[%d]: the command is empty", i)
		}
		if step.Source == nil && t.keys["public_repo"] == nil && t.keys["connected_repo"] == nil {
			l.errorf(file, t.at, "name the repository that holds the program, or use inline_contents",
				"steps[%d]: [steps.public_repo] or [steps.connected_repo] is missing", i)
		}
	default:
		l.errorf(file, t.at, "", "steps[%d]: inline_contents or command is missing", i)
	}
	return step
}
