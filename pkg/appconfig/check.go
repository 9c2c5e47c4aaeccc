package appconfig

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

// checkApp checks what no single file can tell, and puts the App in order.
func (l *loader) checkApp() {
	l.index()
	l.checkDuplicates()
	l.checkGroups()
	l.checkDependencies()
	l.checkCycles()
	l.checkEchoes()
	l.checkTriggers()
	l.checkToggles()
	l.checkInstallInputs()
	l.checkInstallToggles()
	l.checkTemplates()
	for _, c := range l.components {
		if c.typed != nil {
			l.app.Components = append(l.app.Components, *c.typed)
		}
	}
	slices.SortStableFunc(l.app.Components, func(a, b Component) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(l.app.Actions, func(a, b Action) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(l.app.Secrets, func(a, b Secret) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(l.app.Installs, func(a, b Install) int { return cmp.Compare(a.Name, b.Name) })
}

// known is what the config declares, by name. Of two things with one name the first counts; the second is an error of its own.
type known struct {
	components map[string]*componentFile
	actions    map[string]bool
	inputs     map[string]*Input
	groups     map[string]bool
	secrets    map[string]bool
}

func (l *loader) index() {
	l.known = known{
		components: map[string]*componentFile{}, actions: map[string]bool{},
		inputs: map[string]*Input{}, groups: map[string]bool{}, secrets: map[string]bool{},
	}
	for _, c := range slices.Backward(l.components) {
		l.known.components[c.name] = c
	}
	for _, a := range l.actions {
		l.known.actions[a.name] = true
	}
	for i := range slices.Backward(l.app.Inputs) {
		l.known.inputs[l.app.Inputs[i].Name] = &l.app.Inputs[i]
	}
	for _, group := range l.groups {
		l.known.groups[group.name] = true
	}
	for _, secret := range l.secrets {
		l.known.secrets[secret.name] = true
	}
}

// keysOf gives the names of a part of known, for hints.
func keysOf[V any](part map[string]V) []string { return slices.Collect(maps.Keys(part)) }

func (l *loader) checkDuplicates() {
	var components, actions, installs []named
	for _, c := range l.components {
		components = append(components, named{c.name, c.file, c.root.place("name")})
		if c.name == SandboxName {
			l.errorf(c.file, c.root.place("name"), "choose another name", "no component may be called %q: that is sandbox.toml", SandboxName)
		}
	}
	for _, a := range l.actions {
		actions = append(actions, a.named)
	}
	for _, i := range l.installs {
		installs = append(installs, i.named)
	}
	l.duplicates("component", components)
	l.duplicates("action", actions)
	l.duplicates("install", installs)
	l.duplicates("input", l.inputs)
	l.duplicates("input group", l.groups)
	l.duplicates("secret", l.secrets)
	steps := map[string]bool{}
	for i, action := range l.app.Actions {
		clear(steps)
		for _, step := range action.Steps {
			if step.Name != "" && steps[step.Name] {
				l.errorf(l.actions[i].file, l.actions[i].at, "rename one of them", "action %q has two steps called %s", action.Name, quoteShort(step.Name))
			}
			steps[step.Name] = true
		}
	}
}

func (l *loader) duplicates(what string, all []named) {
	first := map[string]named{}
	for _, one := range all {
		if one.name == "" {
			continue
		}
		if other, ok := first[one.name]; ok {
			l.errorf(one.file, one.at, "rename one of them", "there is a second %s %q: the first is in %s:%d", what, one.name, other.file, other.at.line)
			continue
		}
		first[one.name] = one
	}
}

func (l *loader) checkGroups() {
	for _, use := range l.groupUses {
		if !l.known.groups[use.name] && !l.full() {
			hint := didYouMean(use.name, keysOf(l.known.groups))
			if hint == "" {
				hint = "add a [[group]] with that name"
			}
			l.errorf(use.file, use.at, hint, "there is no input group %s", quoteShort(use.name))
		}
	}
}

func (l *loader) checkDependencies() {
	for _, c := range l.components {
		seen := map[string]bool{}
		for _, n := range c.dependencies {
			name, ok := n.text()
			switch {
			case !ok: // told already
			case seen[name]:
				l.errorf(c.file, n.at, "remove it", "the dependency %q is listed twice", name)
			case name == SandboxName:
				l.warnf(c.file, n.at, "remove it", "every component depends on the sandbox")
				dropDependency(c, name)
			case l.known.components[name] == nil && !l.full():
				l.errorf(c.file, n.at, didYouMean(name, keysOf(l.known.components)), "the dependency %s does not exist", quoteShort(name))
			}
			seen[name] = true
		}
	}
}

func dropDependency(c *componentFile, name string) {
	if c.typed == nil {
		return
	}
	c.typed.Dependencies = slices.DeleteFunc(c.typed.Dependencies, func(other string) bool { return other == name })
	if len(c.typed.Dependencies) == 0 {
		c.typed.Dependencies = nil
	}
}

// checkCycles looks at the components of all kinds: a cycle is wrong whether or not its members have an effect yet.
func (l *loader) checkCycles() {
	needs := map[string][]string{}
	for _, c := range l.components {
		needs[c.name] = directNeeds(c)
	}
	done := map[string]bool{}
	sorted := slices.SortedFunc(slices.Values(l.components), func(a, b *componentFile) int { return cmp.Compare(a.name, b.name) })
	for _, c := range sorted {
		cycle := closedPath(c.name, func(name string) []string { return needs[name] }, done)
		if cycle == nil {
			continue
		}
		at := l.known.components[cycle[0]]
		l.errorf(at.file, at.root.place("dependencies"), "remove one of these dependencies, listed or read from outputs",
			"the components depend on each other in a circle: %s", strings.Join(cycle, " -> "))
	}
}

// directNeeds gives the components that a component lists, or whose outputs it reads, sorted.
func directNeeds(c *componentFile) []string {
	var names []string
	for _, n := range c.dependencies {
		if name, ok := n.text(); ok {
			names = append(names, name)
		}
	}
	if c.typed != nil {
		names = append(names, impliedBy(c.typed)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// impliedBy gives the components whose outputs a component reads.
func impliedBy(c *Component) []string {
	var names []string
	for _, ref := range c.Refs() {
		if name, ok := outputsOf(render.Canonical(ref)); ok {
			names = append(names, name)
		}
	}
	return names
}

// checkEchoes looks for components that read what an action gives which runs because they were deployed, themselves or by way of
// what needs them. Each run may give something else, so such a component would be deployed again and again.
func (l *loader) checkEchoes() {
	for _, c := range l.components {
		if c.typed == nil {
			continue
		}
		told := map[string]bool{}
		for _, ref := range c.typed.Refs() {
			if ref = render.Canonical(ref); len(ref) < 3 || !ref.HasPrefix("actions", "workflows") {
				continue
			}
			for _, a := range l.actions {
				if a.name != ref[2] || told[a.name] {
					continue
				}
				told[a.name] = true
				with, echoes := l.echo(a, c.name)
				if !echoes {
					continue
				}
				l.errorf(c.file, c.root.place("name"), "read an output of a component instead, or let the action run by hand",
					"%s reads outputs of action %s, which runs whenever %s is deployed: it would be deployed again and again", c.name, a.name, with)
			}
		}
	}
}

// echo gives a component with whose deploy an action runs, of those that are deployed because another one was.
func (l *loader) echo(a *actionFile, component string) (with string, echoes bool) {
	if a.always {
		return component, true
	}
	i := slices.IndexFunc(a.deploys, func(with string) bool { return l.needs(with, component, map[string]bool{}) })
	if i < 0 {
		return "", false
	}
	return a.deploys[i], true
}

// needs says whether a component is another one or comes after it, over any number of edges.
func (l *loader) needs(name, other string, seen map[string]bool) bool {
	c := l.known.components[name]
	if name == other || c == nil || seen[name] {
		return name == other
	}
	seen[name] = true
	for _, n := range c.dependencies {
		if up, ok := n.text(); ok && l.needs(up, other, seen) {
			return true
		}
	}
	return c.typed != nil && slices.ContainsFunc(impliedBy(c.typed), func(up string) bool { return l.needs(up, other, seen) })
}

func (l *loader) checkTriggers() {
	for _, a := range l.actions {
		for _, use := range a.triggers {
			if l.known.components[use.name] == nil && !l.full() {
				l.errorf(use.file, use.at, didYouMean(use.name, keysOf(l.known.components)), "the trigger names the component %s, which does not exist", quoteShort(use.name))
			}
		}
	}
}
