package rollout

import (
	"cmp"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// This file determines which actions a workflow triggers.

// triggeredActions returns the actions with one of the triggers, trigger by trigger, each sorted by index,
// then by name. For a trigger about one component it returns those that name the component.
func (s *snapshot) triggeredActions(component string, triggers ...string) []workflow.TriggeredAction {
	if s.config == nil {
		return nil
	}
	type indexed struct {
		index int
		workflow.TriggeredAction
	}
	var all []workflow.TriggeredAction
	for _, trigger := range triggers {
		var found []indexed
		for i := range s.config.Actions {
			action := &s.config.Actions[i]
			j := slices.IndexFunc(action.Triggers, func(t appconfig.Trigger) bool {
				return t.Type == trigger && t.ComponentName == component
			})
			if j >= 0 {
				found = append(found,
					indexed{action.Triggers[j].Index, workflow.TriggeredAction{Action: action.Name, Trigger: trigger,
						ReadsFrom: componentsRead(action)}})
			}
		}
		slices.SortFunc(found, func(a, b indexed) int {
			return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.Action, b.Action))
		})
		for _, f := range found {
			all = append(all, f.TriggeredAction)
		}
	}
	return all
}

// componentsRead returns the components whose outputs an action's templates read.
func componentsRead(action *appconfig.Action) []string {
	var names []string
	for _, ref := range action.Refs() {
		if ref.HasPrefix("components") && len(ref) >= 2 && !slices.Contains(names, ref[1]) {
			names = append(names, ref[1])
		}
	}
	return names
}

// componentPart returns one component of a workflow to start, with the actions around its apply.
func (s *snapshot) componentPart(st workflowStart, name string, w *desiredState) workflow.ComponentPart {
	p := s.components[name]
	part := workflow.ComponentPart{Component: name, DependsOn: p.dependsOn, Sandbox: name == appconfig.SandboxName,
		Reason: st.reason}
	add := func(component, before, after string) {
		for _, act := range s.triggeredActions(component, before) {
			act.BeforePlan = slices.ContainsFunc(p.refs, func(ref render.Path) bool {
				return ref.HasPrefix("actions", "workflows", act.Action)
			})
			part.ActionsBefore = append(part.ActionsBefore, act)
		}
		part.ActionsAfter = append(s.triggeredActions(component, after), part.ActionsAfter...)
	}
	switch st.kind {
	case workflow.KindTeardown, workflow.KindDeprovision:
		part.DependsOn = p.applied.DependsOn
		if w.disabled == DisabledByToggle {
			add(name, appconfig.TriggerPreDisableComponent, appconfig.TriggerPostDisableComponent)
		}
		if part.Sandbox && st.kind == workflow.KindDeprovision {
			add("", appconfig.TriggerPreDeprovisionSandbox, appconfig.TriggerPostDeprovisionSandbox)
		}
		add(name, appconfig.TriggerPreTeardownComponent, appconfig.TriggerPostTeardownComponent)
		return part
	case workflow.KindProvision:
		if part.Sandbox {
			part.ActionsAfter = s.triggeredActions("", appconfig.TriggerPostProvisionSandbox)
		}
	case workflow.KindDeploy:
		if p.config != nil && p.config.Toggleable && !p.mayBeDeployed() {
			add(name, appconfig.TriggerPreEnableComponent, appconfig.TriggerPostEnableComponent)
		}
	}
	add(name, appconfig.TriggerPreDeployComponent, appconfig.TriggerPostDeployComponent)
	return part
}

// workflowActions returns the actions around several components of a workflow to start.
func (s *snapshot) workflowActions(st workflowStart) workflow.WorkflowActions {
	pair := func(before, after string) (b, a []workflow.TriggeredAction) {
		return s.triggeredActions("", before), s.triggeredActions("", after)
	}
	var a workflow.WorkflowActions
	switch st.kind {
	case workflow.KindProvision:
		a.Before, a.After = pair(appconfig.TriggerPreProvision, appconfig.TriggerPostProvision)
		a.BeforeComponents, a.AfterComponents = pair(appconfig.TriggerPreDeployAll, appconfig.TriggerPostDeployAll)
	case workflow.KindDeploy:
		if st.onlyInputs {
			a.Before, a.After = pair(appconfig.TriggerPreUpdateInputs, appconfig.TriggerPostUpdateInputs)
		}
		a.BeforeComponents, a.AfterComponents = pair(appconfig.TriggerPreDeployAll, appconfig.TriggerPostDeployAll)
	case workflow.KindDeprovision:
		a.Before, a.After = pair(appconfig.TriggerPreDeprovision, appconfig.TriggerPostDeprovision)
		a.BeforeComponents, a.AfterComponents = pair(appconfig.TriggerPreTeardownAll, appconfig.TriggerPostTeardownAll)
	}
	return a
}

// onlyInputs reports whether changed inputs are the only reason to deploy these
// components: at least one has changed inputs, and none has any other change.
func (s *snapshot) onlyInputs(states map[string]*desiredState, names []string) bool {
	moved := false
	for _, name := range names {
		m := states[name].changes
		switch {
		case m.inputs() != nil:
			moved = true
		case m.notDeployed || m.unknown || m.artifact || m.config || len(m.values) > 0:
			return false
		}
	}
	return moved
}
