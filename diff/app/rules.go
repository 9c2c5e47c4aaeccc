package app

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Sets of actions for rules.
var (
	deployed       = []string{kindComponent, kindSandbox}
	actionsCreate  = []diff.Action{diff.Create}
	actionsUpdate  = []diff.Action{diff.Update}
	actionsPresent = []diff.Action{diff.Create, diff.Update}
	actionsDestroy = []diff.Action{diff.Destroy, diff.Forget}
	allActions     = []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Destroy, diff.Forget}
)

// The rules that the first note counts.
const (
	componentAdded   = "component-added"
	componentRebuilt = "component-rebuilt"
	componentMoved   = "component-moved"
	componentCode    = "component-code"
	componentBroken  = "component-code-broken"
	componentAgain   = "component-redeployed"
	componentRemoved = "component-removed"
	componentKind    = "component-kind"
	componentRenamed = "component-renamed"
	componentOff     = "component-switched-off"
	componentForAll  = "component-for-all"
	contextCluster   = "context-cluster"
	componentOn      = "component-switched-on"
	inputAsked       = "input-asked"
	inputDefault     = "input-default"
	inputType        = "input-type"
	inputRemoved     = "input-removed"
	installWished    = "install-wished"
	installValues    = "install-values"
	installOff       = "install-switched-off"
	actionBroken     = "action-code-broken"
	stackAgain       = "stack-again"
	nothingDeployed  = "nothing-deployed"
)

// componentRules returns the rules about what is built, deployed and destroyed.
func componentRules() []Rule {
	on := func(v *changeView) bool { return v.componentAfter.Enabled(nil) }
	return []Rule{
		{
			Name: componentRemoved, Kinds: deployed, Actions: actionsDestroy, Risk: diff.RiskDestroy,
			Message: "its resources are destroyed on every install that has it, each after a person's approval",
		},
		{
			Name: componentKind, Kinds: deployed, Actions: []diff.Action{diff.Replace}, Risk: diff.RiskDestroy,
			When:    "its type changes",
			matches: func(v *changeView) bool { return engine(v.componentBefore) != engine(v.componentAfter) },
			Message: "its resources are managed by another tool: on every install they are destroyed and created again",
		},
		{
			Name: componentRenamed, Kinds: deployed, Actions: []diff.Action{diff.Replace}, Risk: diff.RiskDestroy,
			When:    "another one is removed with almost the same content",
			matches: func(v *changeView) bool { return v.change.Renamed },
			Message: "installs identify it by its name: the resources of the old one are destroyed and created again for " +
				"the new one",
		},
		{
			Name: componentAdded, Kinds: deployed, Actions: actionsCreate, Risk: diff.RiskAdditive,
			When: "installs have it by default", matches: on,
			Message: "it is built, and deployed on every install",
		},
		{
			Name: "component-offered", Kinds: deployed, Actions: actionsCreate, Risk: diff.RiskAdditive,
			When:    "installs have it only if they enable it",
			matches: func(v *changeView) bool { return !on(v) }, Message: "it is built, and deployed where an install " +
				"enables it",
		},
		{
			Name: componentRebuilt, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its artifact is built from something else",
			matches: func(v *changeView) bool { return v.effect.Rebuild },
			Message: "it is rebuilt, and redeployed on every install if the artifact changes",
		},
		{
			Name: componentMoved, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "only its repository or branch changes",
			matches: func(v *changeView) bool { return v.effect.Moved && !v.effect.Rebuild },
			Message: "its code comes from another place: if it differs there, it is rebuilt and redeployed on every install",
		},
		{
			Name: componentCode, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "the code that it is built from changes",
			matches: func(v *changeView) bool { return v.code != nil && v.code.After == "" },
			Message: "its code changes: it is rebuilt, and redeployed on every install if the artifact changes",
		},
		{
			Name: componentBroken, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its code changes so that it cannot be built",
			matches: func(v *changeView) bool { return v.code != nil && v.code.After != "" },
			names:   func(v *changeView) []string { return []string{v.code.After} },
			Message: "it cannot be built, so the release is incomplete and no install gets it",
		},
		{
			Name: componentAgain, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its configuration for deploys changes",
			matches: func(v *changeView) bool { return v.effect.Redeploy },
			Message: "it is planned again and redeployed on every install that has it",
		},
		{
			Name: "component-release", Kinds: []string{kindComponent}, Actions: actionsUpdate, Risk: diff.RiskReplace,
			When:    "the name or the namespace of a Helm release changes",
			matches: func(v *changeView) bool { return v.componentAfter.Helm != nil && v.changed("chart_name", "namespace") },
			Message: "it becomes another release: the objects of the old one do not move with it",
		},
		{
			Name: "component-cluster", Kinds: []string{kindComponent}, Actions: actionsUpdate, Risk: diff.RiskReplace,
			When:    "its kubernetes_context changes",
			matches: func(v *changeView) bool { return v.changed("kubernetes_context") },
			Message: "it moves to another cluster: what runs on the old one stays there",
		},
		{
			Name: componentOff, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskDestroy,
			When:    "installs had it by default, and no longer do",
			matches: func(v *changeView) bool { return v.componentBefore.Enabled(nil) && !v.componentAfter.Enabled(nil) },
			Message: "its resources are destroyed on every install that does not enable it",
		},
		{
			Name: componentOn, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskAdditive,
			When:    "installs get it by default",
			matches: func(v *changeView) bool { return !v.componentBefore.Enabled(nil) && v.componentAfter.Enabled(nil) },
			Message: "it is deployed on every install that does not disable it",
		},
		{
			Name: componentForAll, Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskAdditive,
			When:    "it is no longer toggleable",
			matches: func(v *changeView) bool { return v.turnsOff("toggleable") && v.componentBefore.Enabled(nil) },
			Message: "installs that disabled it get it",
		},
		{
			Name: "component-optional", Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskNone,
			When:    "it becomes toggleable, and is on",
			matches: func(v *changeView) bool { return v.turnsOn("toggleable") && v.componentAfter.Enabled(nil) },
			Message: "installs can disable it from now on",
		},
		{
			Name: "component-readers", Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When: "it is rebuilt or redeployed, and others read its outputs",
			matches: func(v *changeView) bool {
				return (v.effect != (Effect{}) || v.code != nil) && len(v.configAfter.ofOutputs(v.componentAfter.Name)) > 0
			},
			names:   func(v *changeView) []string { return v.configAfter.ofOutputs(v.componentAfter.Name) },
			Message: "if its outputs change, the components that read them are planned again",
		},
		{
			Name: "component-approval", Kinds: deployed, Actions: actionsPresent, Risk: diff.RiskInPlace, Security: true,
			When:    "auto_approve_on_policies_passing is set",
			matches: func(v *changeView) bool { return v.turnsOn("auto_approve_on_policies_passing") },
			Message: "its plans no longer need an approval when all policies pass",
		},
		{
			Name: "component-role", Kinds: deployed, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "its operation_roles change",
			matches: func(v *changeView) bool { return v.changed("operation_roles") },
			Message: "its operations run with other roles",
		},
	}
}

// inputRules returns the rules about the inputs of installs.
func inputRules() []Rule {
	kinds := []string{kindInput}
	needed := func(table raw.Value) bool {
		required, _ := table.Get("required")
		fallback, has := table.Get("default")
		text, _ := raw.Text(fallback)
		return required.IsTrue() && (!has || text == "")
	}
	reading := func(v *changeView) []string { return v.configAfter.ofInput(raw.TextAt(v.after, "name")) }
	return []Rule{
		{
			Name: inputAsked, Kinds: kinds, Actions: actionsPresent, Risk: diff.RiskInPlace,
			When:    "it is required, has no default, and installs could do without it before",
			matches: func(v *changeView) bool { return needed(v.after) && (v.before.IsNull() || !needed(v.before)) },
			Message: "every install must set it before this version can be deployed there",
		},
		{
			Name: "input-offered", Kinds: kinds, Actions: actionsCreate, Risk: diff.RiskAdditive,
			When:    "an install can do without it",
			matches: func(v *changeView) bool { return !needed(v.after) }, Message: "installs can set it from now on",
		},
		{
			Name: inputRemoved, Kinds: kinds, Actions: actionsDestroy, Risk: diff.RiskInPlace,
			Message: "the values of installs for it are no longer used",
		},
		{
			Name: inputType, Kinds: kinds, Actions: actionsUpdate, Risk: diff.RiskInPlace, When: "its type changes",
			matches: func(v *changeView) bool { return v.changed("type") },
			Message: "the values of installs for it may no longer be valid, and must then be set again",
		},
		{
			Name: inputDefault, Kinds: kinds, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its default changes, and templates read it",
			matches: func(v *changeView) bool { return v.changed("default") && len(reading(v)) > 0 }, names: reading,
			Message: "on installs that use the default, components that read it are planned again and redeployed",
		},
		{
			Name: "input-exposed", Kinds: kinds, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "it is no longer sensitive",
			matches: func(v *changeView) bool { return v.turnsOff("sensitive") },
			Message: "the values of installs for it, sealed until now, can be read in the control plane and in plans",
		},
		{
			Name: "input-sealed", Kinds: kinds, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "it becomes sensitive",
			matches: func(v *changeView) bool { return v.turnsOn("sensitive") },
			Message: "the values of installs for it are sealed from now on; earlier ones could be read",
		},
		{
			Name: "input-internal", Kinds: kinds, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "it is no longer internal",
			matches: func(v *changeView) bool { return v.turnsOff("internal") }, Message: "people other than the vendor's " +
				"staff may set it",
		},
	}
}

// stackRules returns the rules about the stack that the customer runs.
func stackRules() []Rule {
	configurable := func(v *changeView) bool {
		was, _ := v.before.Get("user_configurable")
		is, _ := v.after.Get("user_configurable")
		return was.IsTrue() || is.IsTrue()
	}
	asked := func(table raw.Value) bool {
		required, _ := table.Get("required")
		return required.IsTrue()
	}
	words := "the install stack changes: every customer must run it again"
	return []Rule{
		{
			Name: "secret-removed", Kinds: []string{kindSecret}, Actions: actionsDestroy, Risk: diff.RiskDestroy,
			Message: "it is deleted in the customer's account once the install stack has run again, and its readers " +
				"find nothing",
		},
		{
			Name: "secret-asked", Kinds: []string{kindSecret}, Actions: actionsPresent, Risk: diff.RiskInPlace,
			When:    "it is required, and was not",
			matches: func(v *changeView) bool { return asked(v.after) && !asked(v.before) }, Message: "the customer must set it",
		},
		{
			Name: "secret-generated", Kinds: []string{kindSecret}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "auto_generate changes",
			matches: func(v *changeView) bool { return v.changed("auto_generate") },
			Message: "its value gets another origin: the stored one may be replaced",
		},
		{
			Name: "secret-copies", Kinds: []string{kindSecret}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When: "where it is copied to changes",
			matches: func(v *changeView) bool {
				return v.changed("kubernetes_sync", "kubernetes_secret_name", "kubernetes_secret_namespace",
					"kubernetes_sync_targets", "format")
			},
			Message: "its copies in clusters are written again; copies that are no longer configured are no longer updated",
		},
		{
			Name: "stack-template", Kinds: []string{kindStack, kindRunner}, Actions: actionsPresent, Risk: diff.RiskInPlace,
			Security: true,
			When:     "a template or a script comes from another address",
			matches: func(v *changeView) bool {
				return v.changed("vpc_nested_template_url", "runner_nested_template_url", "custom_nested_stacks", "init_script_url")
			},
			Message: "the customer runs another script, with the customer's own rights",
		},
		{
			Name: stackAgain, Kinds: []string{kindStack, kindRunner, kindPermission, kindBreakGlass, kindSecret, kindInput},
			Actions: allActions, Risk: diff.RiskInPlace,
			When: "it is part of the install stack, as inputs with user_configurable and all of a secret but its copies are",
			matches: func(v *changeView) bool {
				switch v.change.ResourceKind {
				case kindInput:
					return configurable(v)
				case kindSecret:
					return v.changed("name", "display_name", "description", "required", "auto_generate", "default")
				}
				return true
			},
			Message: words,
		},
	}
}

// otherRules returns the rules about actions beside deploys, and about installs.
func otherRules() []Rule {
	return []Rule{
		{
			Name: "action-occasions", Kinds: []string{kindAction}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its triggers change",
			matches: func(v *changeView) bool { return v.changed("triggers") }, Message: "it runs on other occasions",
		},
		{
			Name: "action-steps", Kinds: []string{kindAction}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When: "its steps or its timeout change",
			matches: func(v *changeView) bool {
				return v.changed("steps", "timeout", "enable_kube_config", "image", "kubernetes_context")
			},
			Message: "it does something else from the next run on; nothing is deployed for it",
		},
		{
			Name: "action-code", Kinds: []string{kindAction}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "the code that it runs changes",
			matches: func(v *changeView) bool { return v.code != nil && v.code.After == "" },
			Message: "it runs other code from the next run on, once an approver of the install has seen it",
		},
		{
			Name: actionBroken, Kinds: []string{kindAction}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "the code that it runs changes so that it cannot be built",
			matches: func(v *changeView) bool { return v.code != nil && v.code.After != "" },
			names:   func(v *changeView) []string { return []string{v.code.After} },
			Message: "its code cannot be built, so the release is incomplete and no install gets it",
		},
		{
			Name: "action-inputs", Kinds: []string{kindAction}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its inputs change",
			matches: func(v *changeView) bool { return v.changed("inputs") }, Message: "it has other inputs for the person " +
				"who starts it",
		},
		{
			Name: "action-role", Kinds: []string{kindAction}, Actions: actionsUpdate, Risk: diff.RiskInPlace, Security: true,
			When:    "its role changes",
			matches: func(v *changeView) bool { return v.changed("role", "break_glass_role") },
			Message: "it runs with another role",
		},
		{
			Name: "action-removed", Kinds: []string{kindAction}, Actions: actionsDestroy, Risk: diff.RiskInPlace,
			Message: "it no longer runs",
		},
		{
			Name: contextCluster, Kinds: []string{kindContext}, Actions: actionsUpdate, Risk: diff.RiskReplace,
			When:    "its component changes",
			matches: func(v *changeView) bool { return v.changed("component") }, names: usersOfContext,
			Message: "components that use it move to another cluster: what runs on the old one stays there",
		},
		{
			Name: "branch-installs", Kinds: []string{kindBranch}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its install_groups change",
			matches: func(v *changeView) bool { return v.changed("install_groups") },
			Message: "installs get new versions in other waves",
		},
		{
			Name: "branch-run", Kinds: []string{kindBranch}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When: "what it follows, or what starts a run, changes",
			matches: func(v *changeView) bool {
				return v.changed("run", "public_repo", "connected_repo", "ignore_changes_regex")
			},
			Message: "other commits are rolled out",
		},
		{
			Name: installWished, Kinds: []string{kindInstall}, Actions: actionsCreate, Risk: diff.RiskAdditive,
			Message: "an install of this name should exist",
		},
		{
			Name: "install-unwished", Kinds: []string{kindInstall}, Actions: actionsDestroy, Risk: diff.RiskInPlace,
			Message: "its file no longer manages it; the install stays as it is",
		},
		{
			Name: installValues, Kinds: []string{kindInstall}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "its inputs change",
			matches: func(v *changeView) bool { return v.changed("inputs") },
			Message: "components that read these inputs are planned again and redeployed there",
		},
		{
			Name: installOff, Kinds: []string{kindInstall}, Actions: actionsUpdate, Risk: diff.RiskDestroy,
			When:    "it switches a component off",
			matches: func(v *changeView) bool { return len(switchedOff(v)) > 0 }, names: switchedOff,
			Message: "the resources of these components are destroyed there",
		},
		{
			Name: "install-approval", Kinds: []string{kindInstall}, Actions: actionsPresent, Risk: diff.RiskInPlace,
			Security: true,
			When:     "approval_option becomes approve-all",
			matches: func(v *changeView) bool {
				return v.changed("approval_option") && raw.TextAt(v.after, "approval_option") == "approve-all"
			},
			Message: "changes there no longer need an approval",
		},
		{
			Name: "install-destroys", Kinds: []string{kindInstall}, Actions: actionsPresent, Risk: diff.RiskInPlace,
			Security: true,
			When:     "allow_destroy is set",
			matches:  func(v *changeView) bool { return v.turnsOn("allow_destroy") },
			Message:  "approve-all approves deletions there, too",
		},
		{
			Name: nothingDeployed, Actions: allActions, Risk: diff.RiskNone, When: "no other rule of this list finds anything",
			Message: "nothing deployed changes",
		},
	}
}

// usersOfContext returns the components that deploy to the cluster of a context.
func usersOfContext(v *changeView) []string {
	var names []string
	for i := range v.configAfter.app.Components {
		if c := &v.configAfter.app.Components[i]; c.KubernetesContext == raw.TextAt(v.after, "name") {
			names = append(names, c.Name)
		}
	}
	return names
}

// switchedOff returns the components that an install disables and did not disable before.
func switchedOff(v *changeView) []string {
	name := raw.TextAt(v.after, "name")
	var was, is map[string]bool
	for _, install := range v.configBefore.app.Installs {
		if install.Name == name {
			was = install.Toggles
		}
	}
	for _, install := range v.configAfter.app.Installs {
		if install.Name == name {
			is = install.Toggles
		}
	}
	var names []string
	for i := range v.configAfter.app.Components {
		c := &v.configAfter.app.Components[i]
		if before, ok := v.configBefore.component(c.Name); ok && before.Enabled(was) && !c.Enabled(is) {
			names = append(names, c.Name)
		}
	}
	return names
}
