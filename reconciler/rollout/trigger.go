package rollout

import (
	"cmp"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// This file determines which actions a workflow triggers.

// acts returns the actions with one of the triggers, trigger by trigger, each sorted by index,
// then by name. For a trigger about one component it returns those that name the component.
func (s *snapshot) acts(component string, triggers ...string) []workflow.Act {
	if s.config == nil {
		return nil
	}
	type indexed struct {
		index int
		workflow.Act
	}
	var all []workflow.Act
	for _, trigger := range triggers {
		var found []indexed
		for i := range s.config.Actions {
			action := &s.config.Actions[i]
			j := slices.IndexFunc(action.Triggers, func(t appconfig.Trigger) bool {
				return t.Type == trigger && t.ComponentName == component
			})
			if j >= 0 {
				found = append(found,
					indexed{action.Triggers[j].Index, workflow.Act{Action: action.Name, Trigger: trigger, After: reads(action)}})
			}
		}
		slices.SortFunc(found, func(a, b indexed) int {
			return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.Action, b.Action))
		})
		for _, f := range found {
			all = append(all, f.Act)
		}
	}
	return all
}

// reads returns the components whose outputs an action's templates read.
func reads(action *appconfig.Action) []string {
	var names []string
	for _, ref := range action.Refs() {
		if ref.HasPrefix("components") && len(ref) >= 2 && !slices.Contains(names, ref[1]) {
			names = append(names, ref[1])
		}
	}
	return names
}

// part returns one component of a workflow to start, with the actions around its apply.
func (s *snapshot) part(st start, name string, w *want) workflow.Part {
	p := s.places[name]
	part := workflow.Part{Component: name, After: p.after, Base: name == appconfig.SandboxName, Reason: st.reason}
	add := func(component, before, after string) {
		part.Before = append(part.Before, s.acts(component, before)...)
		part.Then = append(s.acts(component, after), part.Then...)
	}
	switch st.kind {
	case workflow.KindTeardown, workflow.KindDeprovision:
		part.After = p.kept.After
		if w.off == OffToggle {
			add(name, appconfig.TriggerPreDisableComponent, appconfig.TriggerPostDisableComponent)
		}
		if part.Base && st.kind == workflow.KindDeprovision {
			add("", appconfig.TriggerPreDeprovisionSandbox, appconfig.TriggerPostDeprovisionSandbox)
		}
		add(name, appconfig.TriggerPreTeardownComponent, appconfig.TriggerPostTeardownComponent)
		return part
	case workflow.KindProvision:
		if part.Base {
			part.Then = s.acts("", appconfig.TriggerPostProvisionSandbox)
		}
	case workflow.KindDeploy:
		if p.config != nil && p.config.Toggleable && !p.there() {
			add(name, appconfig.TriggerPreEnableComponent, appconfig.TriggerPostEnableComponent)
		}
	}
	add(name, appconfig.TriggerPreDeployComponent, appconfig.TriggerPostDeployComponent)
	return part
}

// around returns the actions around several components of a workflow to start.
func (s *snapshot) around(st start) workflow.Around {
	pair := func(before, after string) (b, a []workflow.Act) { return s.acts("", before), s.acts("", after) }
	var a workflow.Around
	switch st.kind {
	case workflow.KindProvision:
		a.Before, a.Then = pair(appconfig.TriggerPreProvision, appconfig.TriggerPostProvision)
		a.BeforeAll, a.ThenAll = pair(appconfig.TriggerPreDeployAll, appconfig.TriggerPostDeployAll)
	case workflow.KindDeploy:
		if st.inputs {
			a.Before, a.Then = pair(appconfig.TriggerPreUpdateInputs, appconfig.TriggerPostUpdateInputs)
		}
		a.BeforeAll, a.ThenAll = pair(appconfig.TriggerPreDeployAll, appconfig.TriggerPostDeployAll)
	case workflow.KindDeprovision:
		a.Before, a.Then = pair(appconfig.TriggerPreDeprovision, appconfig.TriggerPostDeprovision)
		a.BeforeAll, a.ThenAll = pair(appconfig.TriggerPreTeardownAll, appconfig.TriggerPostTeardownAll)
	}
	return a
}

// onlyInputs reports whether changed inputs are the only reason to deploy these
// components: at least one has changed inputs, and none has any other change.
func (s *snapshot) onlyInputs(wants map[string]*want, names []string) bool {
	moved := false
	for _, name := range names {
		m := wants[name].moves
		switch {
		case m.inputs() != nil:
			moved = true
		case m.first || m.unknown || m.artifact || m.config || len(m.values) > 0:
			return false
		}
	}
	return moved
}
