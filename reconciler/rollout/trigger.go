package rollout

import (
	"cmp"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// This file says which actions run because of what a workflow does.

// acts gives the actions with one of the triggers, trigger by trigger, each in their order: by index, then by name. Of triggers
// that are about one component, those that name it.
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
			j := slices.IndexFunc(action.Triggers, func(t appconfig.Trigger) bool { return t.Type == trigger && t.ComponentName == component })
			if j >= 0 {
				found = append(found, indexed{action.Triggers[j].Index, workflow.Act{Action: action.Name, Trigger: trigger, After: reads(action)}})
			}
		}
		slices.SortFunc(found, func(a, b indexed) int { return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.Action, b.Action)) })
		for _, f := range found {
			all = append(all, f.Act)
		}
	}
	return all
}

// reads gives the components whose outputs an action's templates read.
func reads(action *appconfig.Action) []string {
	var names []string
	for _, ref := range action.Refs() {
		if ref.HasPrefix("components") && len(ref) >= 2 && !slices.Contains(names, ref[1]) {
			names = append(names, ref[1])
		}
	}
	return names
}

// part is one component of a workflow that is to be started, with the actions around its apply.
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

// around gives the actions around more than one component of a workflow that is to be started.
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

// onlyInputs says that changed inputs are all the reason there is to deploy these components: what has moved of them are inputs, or
// nothing yet.
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
