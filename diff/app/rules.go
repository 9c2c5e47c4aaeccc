package app

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Sets of actions for rules.
var (
	deployed = []string{kindComponent, kindSandbox}
	created  = []diff.Action{diff.Create}
	updated  = []diff.Action{diff.Update}
	present  = []diff.Action{diff.Create, diff.Update}
	gone     = []diff.Action{diff.Destroy, diff.Forget}
	any4     = []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Destroy, diff.Forget}
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
	stackAgain       = "stack-again"
	nothingDeployed  = "nothing-deployed"
)

// componentRules returns the rules about what is built, deployed and destroyed.
func componentRules() []Rule {
	on := func(l *look) bool { return l.now.On(nil) }
	return []Rule{
		{
			Name: componentRemoved, Kinds: deployed, Actions: gone, Risk: diff.RiskDestroy,
			Words: "its resources are destroyed on every install that has it, each time after a person approved it",
		},
		{
			Name: componentKind, Kinds: deployed, Actions: []diff.Action{diff.Replace}, Risk: diff.RiskDestroy,
			When:  "its type changes",
			holds: func(l *look) bool { return engine(l.old) != engine(l.now) },
			Words: "what keeps track of its resources changes: on every install they are destroyed, and made anew",
		},
		{
			Name: componentRenamed, Kinds: deployed, Actions: []diff.Action{diff.Replace}, Risk: diff.RiskDestroy,
			When:  "another one that goes says almost the same",
			holds: func(l *look) bool { return l.change.Renamed },
			Words: "an install knows it by its name: the resources of the old one are destroyed, and made anew for the new one",
		},
		{
			Name: componentAdded, Kinds: deployed, Actions: created, Risk: diff.RiskAdditive,
			When: "installs have it unless they say otherwise", holds: on,
			Words: "it is built, and deployed on every install",
		},
		{
			Name: "component-offered", Kinds: deployed, Actions: created, Risk: diff.RiskAdditive,
			When:  "installs have it only if they say so",
			holds: func(l *look) bool { return !on(l) }, Words: "it is built, and deployed where an install switches it on",
		},
		{
			Name: componentRebuilt, Kinds: deployed, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its artifact is made from something else",
			holds: func(l *look) bool { return l.effect.Rebuild },
			Words: "it is built anew, and deployed on every install if that gives another artifact",
		},
		{
			Name: componentMoved, Kinds: deployed, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its repository or branch changes, and nothing else of the build",
			holds: func(l *look) bool { return l.effect.Moved && !l.effect.Rebuild },
			Words: "its code is looked for elsewhere: if it differs there, it is built anew and deployed on every install",
		},
		{
			Name: componentCode, Kinds: deployed, Actions: updated, Risk: diff.RiskInPlace,
			When:  "the code that it is built from changes",
			holds: func(l *look) bool { return l.code != nil && l.code.After == "" },
			Words: "its code changes: it is built anew, and deployed on every install if that gives another artifact",
		},
		{
			Name: componentBroken, Kinds: deployed, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its code changes so that it cannot be built",
			holds: func(l *look) bool { return l.code != nil && l.code.After != "" },
			names: func(l *look) []string { return []string{l.code.After} },
			Words: "it cannot be built, so the release is incomplete and no install gets it",
		},
		{
			Name: componentAgain, Kinds: deployed, Actions: updated, Risk: diff.RiskInPlace,
			When:  "what it is deployed with changes",
			holds: func(l *look) bool { return l.effect.Redeploy },
			Words: "it is planned and deployed anew on every install that has it",
		},
		{
			Name: "component-release", Kinds: []string{kindComponent}, Actions: updated, Risk: diff.RiskReplace,
			When:  "the name or the namespace of a Helm release changes",
			holds: func(l *look) bool { return l.now.Helm != nil && l.changed("chart_name", "namespace") },
			Words: "it becomes another release: what the old one holds does not go with it",
		},
		{
			Name: "component-cluster", Kinds: []string{kindComponent}, Actions: updated, Risk: diff.RiskReplace,
			When:  "its kubernetes_context changes",
			holds: func(l *look) bool { return l.changed("kubernetes_context") },
			Words: "it goes to another cluster: what is on the old one does not go with it",
		},
		{
			Name: componentOff, Kinds: deployed, Actions: updated, Risk: diff.RiskDestroy,
			When:  "installs that say nothing of it had it, and do not any more",
			holds: func(l *look) bool { return l.old.On(nil) && !l.now.On(nil) },
			Words: "its resources are destroyed on every install that does not switch it on",
		},
		{
			Name: componentOn, Kinds: deployed, Actions: updated, Risk: diff.RiskAdditive,
			When:  "installs that say nothing of it get it",
			holds: func(l *look) bool { return !l.old.On(nil) && l.now.On(nil) },
			Words: "it is deployed on every install that does not switch it off",
		},
		{
			Name: componentForAll, Kinds: deployed, Actions: updated, Risk: diff.RiskAdditive,
			When:  "it is no longer toggleable",
			holds: func(l *look) bool { return l.turnsOff("toggleable") && l.old.On(nil) },
			Words: "installs that have switched it off get it",
		},
		{
			Name: "component-optional", Kinds: deployed, Actions: updated, Risk: diff.RiskNone,
			When:  "it becomes toggleable, and is on",
			holds: func(l *look) bool { return l.turns("toggleable") && l.now.On(nil) },
			Words: "installs can switch it off from now on",
		},
		{
			Name: "component-readers", Kinds: deployed, Actions: updated, Risk: diff.RiskInPlace,
			When:  "it is built or deployed anew, and others read its outputs",
			holds: func(l *look) bool { return (l.effect != (Effect{}) || l.code != nil) && len(l.is.of(l.now.Name)) > 0 },
			names: func(l *look) []string { return l.is.of(l.now.Name) },
			Words: "then, if its outputs change, those that read them are planned anew",
		},
		{
			Name: "component-approval", Kinds: deployed, Actions: present, Risk: diff.RiskInPlace, Security: true,
			When:  "auto_approve_on_policies_passing is set",
			holds: func(l *look) bool { return l.turns("auto_approve_on_policies_passing") },
			Words: "nobody is asked for its plans any more when all policies pass",
		},
		{
			Name: "component-role", Kinds: deployed, Actions: updated, Risk: diff.RiskInPlace, Security: true,
			When:  "its operation_roles change",
			holds: func(l *look) bool { return l.changed("operation_roles") }, Words: "its operations run with other roles",
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
	reading := func(l *look) []string { return l.is.ofInput(raw.TextAt(l.after, "name")) }
	return []Rule{
		{
			Name: inputAsked, Kinds: kinds, Actions: present, Risk: diff.RiskInPlace,
			When:  "it is required, has no default, and installs could do without it before",
			holds: func(l *look) bool { return needed(l.after) && (l.before.IsNull() || !needed(l.before)) },
			Words: "every install must give it before this version can be deployed there",
		},
		{
			Name: "input-offered", Kinds: kinds, Actions: created, Risk: diff.RiskAdditive, When: "an install can do without it",
			holds: func(l *look) bool { return !needed(l.after) }, Words: "installs can give it from now on",
		},
		{
			Name: inputRemoved, Kinds: kinds, Actions: gone, Risk: diff.RiskInPlace,
			Words: "what installs have given for it is not used any more",
		},
		{
			Name: inputType, Kinds: kinds, Actions: updated, Risk: diff.RiskInPlace, When: "its type changes",
			holds: func(l *look) bool { return l.changed("type") },
			Words: "what installs have given for it may not be allowed any more, and must then be given anew",
		},
		{
			Name: inputDefault, Kinds: kinds, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its default changes, and templates read it",
			holds: func(l *look) bool { return l.changed("default") && len(reading(l)) > 0 }, names: reading,
			Words: "on installs that rely on the default, what reads it is planned and deployed anew",
		},
		{
			Name: "input-exposed", Kinds: kinds, Actions: updated, Risk: diff.RiskInPlace, Security: true,
			When:  "it is no longer sensitive",
			holds: func(l *look) bool { return l.turnsOff("sensitive") },
			Words: "what installs give for it, sealed until now, can be read in the control plane and in plans",
		},
		{
			Name: "input-sealed", Kinds: kinds, Actions: updated, Risk: diff.RiskInPlace, Security: true,
			When:  "it becomes sensitive",
			holds: func(l *look) bool { return l.turns("sensitive") },
			Words: "what installs give for it is sealed from now on; what they gave before could be read",
		},
		{
			Name: "input-internal", Kinds: kinds, Actions: updated, Risk: diff.RiskInPlace, Security: true,
			When:  "it is no longer internal",
			holds: func(l *look) bool { return l.turnsOff("internal") }, Words: "others than the vendor's staff may set it",
		},
	}
}

// stackRules returns the rules about the stack that the customer runs.
func stackRules() []Rule {
	configurable := func(l *look) bool {
		was, _ := l.before.Get("user_configurable")
		is, _ := l.after.Get("user_configurable")
		return was.IsTrue() || is.IsTrue()
	}
	asked := func(table raw.Value) bool {
		required, _ := table.Get("required")
		return required.IsTrue()
	}
	words := "the install stack changes: every customer must run it again"
	return []Rule{
		{
			Name: "secret-removed", Kinds: []string{kindSecret}, Actions: gone, Risk: diff.RiskDestroy,
			Words: "it is deleted in the customer's account once the install stack has run again, and what reads it finds nothing",
		},
		{
			Name: "secret-asked", Kinds: []string{kindSecret}, Actions: present, Risk: diff.RiskInPlace,
			When:  "it is required, and was not",
			holds: func(l *look) bool { return asked(l.after) && !asked(l.before) }, Words: "the customer must give it",
		},
		{
			Name: "secret-generated", Kinds: []string{kindSecret}, Actions: updated, Risk: diff.RiskInPlace,
			When:  "auto_generate changes",
			holds: func(l *look) bool { return l.changed("auto_generate") },
			Words: "who makes its value changes: what is stored now may be replaced",
		},
		{
			Name: "secret-copies", Kinds: []string{kindSecret}, Actions: updated, Risk: diff.RiskInPlace,
			When: "where it is copied to changes",
			holds: func(l *look) bool {
				return l.changed("kubernetes_sync", "kubernetes_secret_name", "kubernetes_secret_namespace",
					"kubernetes_sync_targets", "format")
			},
			Words: "its copies in clusters are written anew; those that are not asked for any more are not kept up to date",
		},
		{
			Name: "stack-template", Kinds: []string{kindStack, kindRunner}, Actions: present, Risk: diff.RiskInPlace,
			Security: true,
			When:     "a template or a script comes from another address",
			holds: func(l *look) bool {
				return l.changed("vpc_nested_template_url", "runner_nested_template_url", "custom_nested_stacks", "init_script_url")
			},
			Words: "the customer runs something else, with rights of their own",
		},
		{
			Name: stackAgain, Kinds: []string{kindStack, kindRunner, kindPermission, kindBreakGlass, kindSecret, kindInput},
			Actions: any4, Risk: diff.RiskInPlace,
			When: "it is part of the install stack, as inputs with user_configurable and all of a secret but its copies are",
			holds: func(l *look) bool {
				switch l.change.ResourceKind {
				case kindInput:
					return configurable(l)
				case kindSecret:
					return l.changed("name", "display_name", "description", "required", "auto_generate", "default")
				}
				return true
			},
			Words: words,
		},
	}
}

// otherRules returns the rules about actions beside deploys, and about installs.
func otherRules() []Rule {
	return []Rule{
		{
			Name: "action-occasions", Kinds: []string{kindAction}, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its triggers change",
			holds: func(l *look) bool { return l.changed("triggers") }, Words: "it runs on other occasions",
		},
		{
			Name: "action-steps", Kinds: []string{kindAction}, Actions: updated, Risk: diff.RiskInPlace,
			When: "its steps or its timeout change",
			holds: func(l *look) bool {
				return l.changed("steps", "timeout", "enable_kube_config", "image", "kubernetes_context")
			},
			Words: "from the next run on it does something else; nothing is deployed for it",
		},
		{
			Name: "action-inputs", Kinds: []string{kindAction}, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its inputs change",
			holds: func(l *look) bool { return l.changed("inputs") }, Words: "whoever starts it is asked for other inputs",
		},
		{
			Name: "action-role", Kinds: []string{kindAction}, Actions: updated, Risk: diff.RiskInPlace, Security: true,
			When:  "its role changes",
			holds: func(l *look) bool { return l.changed("role", "break_glass_role") }, Words: "it runs with another role",
		},
		{
			Name: "action-removed", Kinds: []string{kindAction}, Actions: gone, Risk: diff.RiskInPlace,
			Words: "it does not run any more",
		},
		{
			Name: contextCluster, Kinds: []string{kindContext}, Actions: updated, Risk: diff.RiskReplace,
			When:  "its component changes",
			holds: func(l *look) bool { return l.changed("component") }, names: usersOfContext,
			Words: "those that use it go to another cluster: what is on the old one does not go with them",
		},
		{
			Name: "branch-installs", Kinds: []string{kindBranch}, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its install_groups change",
			holds: func(l *look) bool { return l.changed("install_groups") }, Words: "installs get new versions in other waves",
		},
		{
			Name: "branch-run", Kinds: []string{kindBranch}, Actions: updated, Risk: diff.RiskInPlace,
			When:  "what it follows, or what starts a run, changes",
			holds: func(l *look) bool { return l.changed("run", "public_repo", "connected_repo", "ignore_changes_regex") },
			Words: "other commits are rolled out",
		},
		{
			Name: installWished, Kinds: []string{kindInstall}, Actions: created, Risk: diff.RiskAdditive,
			Words: "an install of this name should exist",
		},
		{
			Name: "install-unwished", Kinds: []string{kindInstall}, Actions: gone, Risk: diff.RiskInPlace,
			Words: "its file does not manage it any more; the install stays as it is",
		},
		{
			Name: installValues, Kinds: []string{kindInstall}, Actions: updated, Risk: diff.RiskInPlace,
			When:  "its inputs change",
			holds: func(l *look) bool { return l.changed("inputs") },
			Words: "what reads these inputs is planned and deployed anew there",
		},
		{
			Name: installOff, Kinds: []string{kindInstall}, Actions: updated, Risk: diff.RiskDestroy,
			When:  "it switches a component off",
			holds: func(l *look) bool { return len(switchedOff(l)) > 0 }, names: switchedOff,
			Words: "resources are destroyed there, of",
		},
		{
			Name: "install-approval", Kinds: []string{kindInstall}, Actions: present, Risk: diff.RiskInPlace, Security: true,
			When: "approval_option becomes approve-all",
			holds: func(l *look) bool {
				return l.changed("approval_option") && raw.TextAt(l.after, "approval_option") == "approve-all"
			},
			Words: "nobody is asked there any more before something changes",
		},
		{
			Name: "install-destroys", Kinds: []string{kindInstall}, Actions: present, Risk: diff.RiskInPlace, Security: true,
			When:  "allow_destroy is set",
			holds: func(l *look) bool { return l.turns("allow_destroy") },
			Words: "approve-all lets deletions through there, too",
		},
		{
			Name: nothingDeployed, Actions: any4, Risk: diff.RiskNone, When: "no other rule of this list finds anything",
			Words: "nothing that is deployed changes",
		},
	}
}

// usersOfContext returns the components that deploy to the cluster of a context.
func usersOfContext(l *look) []string {
	var names []string
	for i := range l.is.app.Components {
		if c := &l.is.app.Components[i]; c.KubernetesContext == raw.TextAt(l.after, "name") {
			names = append(names, c.Name)
		}
	}
	return names
}

// switchedOff returns the components that an install disables and did not disable before.
func switchedOff(l *look) []string {
	name := raw.TextAt(l.after, "name")
	var was, is map[string]bool
	for _, install := range l.was.app.Installs {
		if install.Name == name {
			was = install.Toggles
		}
	}
	for _, install := range l.is.app.Installs {
		if install.Name == name {
			is = install.Toggles
		}
	}
	var names []string
	for i := range l.is.app.Components {
		c := &l.is.app.Components[i]
		if before, ok := l.was.component(c.Name); ok && before.On(was) && !c.On(is) {
			names = append(names, c.Name)
		}
	}
	return names
}
