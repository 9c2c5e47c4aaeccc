package appconfig

import (
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// checker runs the checks that need more than one key: references of names and templates, and
// contradictions. Each file check_*.go has the checks of one subject.
type checker struct {
	*config
	*reporter
	names    names
	cloud    string // of the runner; empty if unknown
	texts    []*renderedText
	nearest  nearestFinder // finds near names of variables and outputs of modules
	compared int           // pairs of bytes compared so far to find near names
	yaml     int           // bytes of YAML parsed so far

	// noValueYet has the paths that texts read and that have no value yet, by file.
	noValueYet map[string]map[string]syntax.Position
	edges      map[string][]edge           // by the dependent component: one edge for each that it needs, sorted
	upstream   map[string]map[string]bool  // a component and all that it comes after; a cache
	deploys    map[string][]string         // the components whose deploy runs an action; a cache
	modules    map[string]*tfmodule.Module // Terraform modules in the repository of the config, by component
	scripts    map[string]error            // what is wrong with directories of scripts in the repository of the config
	// documents are the texts in other languages: policies and policy documents.
	documents []embeddedDocument
}

// names has what the config declares, by name. Of two declarations with one name the first
// counts; the second is a separate error.
type names struct {
	components map[string]*component
	readable   map[string]*component // by var_name too: templates may use it instead of the name
	actions    map[string]*entry[format.Action]
	inputs     map[string]*entry[format.Input]
	groups     map[string]*entry[format.InputGroup]
	secrets    map[string]*entry[format.Secret]
	contexts   map[string]*entry[format.KubernetesContext]
	runbooks   map[string]*entry[format.Runbook]
	stacks     map[string]bool   // nested ones
	roles      map[string]string // from the normalized name (see normalizeRoleName) to the name as written
}

// check runs all checks across the files.
func check(c *config, r *reporter) {
	all := &checker{config: c, reporter: r, scripts: map[string]error{}}
	all.index()
	all.checkRoles()
	all.checkPolicies()
	finish := all.startDocuments()
	all.readTexts()
	all.findEdges()
	all.readCode()
	for _, check := range []func(*checker){
		(*checker).checkNames,
		(*checker).checkMetadata,
		(*checker).checkClouds,
		(*checker).checkRunner,
		(*checker).checkStack,
		(*checker).checkSandbox,
		(*checker).checkInputs,
		(*checker).checkSecrets,
		(*checker).checkOperationRoles,
		(*checker).checkContexts,
		(*checker).checkComponents,
		(*checker).checkModules,
		(*checker).checkDependencies,
		(*checker).checkCycles,
		(*checker).checkActions,
		(*checker).checkDeployLoops,
		(*checker).checkToggles,
		(*checker).checkRunbooks,
		(*checker).checkInstalls,
		(*checker).checkBranches,
		(*checker).checkInstaller,
		(*checker).checkTexts,
	} {
		if all.full() {
			break
		}
		check(all)
	}
	finish()
	r.found = mergeNoEffectYet(r.found)
}

func (c *checker) index() {
	if c.unreadable == nil {
		c.unreadable = unreadableNames{}
	}
	c.names = names{
		components: map[string]*component{}, readable: map[string]*component{}, stacks: map[string]bool{},
		roles: map[string]string{},
	}
	for _, comp := range slices.Backward(c.components) {
		if comp.Name == "" {
			c.unreadable.addTable(comp.table)
			continue
		}
		c.names.components[comp.Name] = comp
		if comp.VarName != "" {
			c.names.readable[comp.VarName] = comp
		}
	}
	maps.Copy(c.names.readable, c.names.components)
	c.names.actions = indexByName(c.unreadable, c.actions, func(a *format.Action) string { return a.Name })
	c.names.inputs = indexByName(c.unreadable, c.inputs, func(i *format.Input) string { return i.Name })
	c.names.groups = indexByName(c.unreadable, c.groups, func(g *format.InputGroup) string { return g.Name })
	c.names.secrets = indexByName(c.unreadable, c.secrets, func(s *format.Secret) string { return s.Name })
	c.names.contexts = indexByName(c.unreadable, c.contexts, func(k *format.KubernetesContext) string { return k.Name })
	c.names.runbooks = indexByName(c.unreadable, c.runbooks, func(r *format.Runbook) string { return r.Name })
	if c.stack != nil {
		for _, nested := range c.stack.value.CustomNestedStacks {
			c.names.stacks[nested.Name] = true
		}
	}
	for _, role := range c.roles {
		c.names.roles[normalizeRoleName(role.value.Name)] = role.value.Name
	}
	for _, role := range c.breakGlass {
		c.names.roles[normalizeRoleName(role.value.Name)] = role.value.Name
	}
	if c.runner != nil {
		c.cloud = cloudOf(c.runner.value.Type)
	}
	if c.cloud == "" && c.stack != nil {
		c.cloud = cloudOf(c.stack.value.Type)
	}
}

func indexByName[T any](unreadable unreadableNames, all []*entry[T], name func(*T) string) map[string]*entry[T] {
	found := make(map[string]*entry[T], len(all))
	for _, e := range slices.Backward(all) {
		if key := name(&e.value); key != "" {
			found[key] = e
		} else {
			unreadable.addTable(e.table)
		}
	}
	return found
}

// keysOf returns the keys of a map, as candidates for hints.
func keysOf[V any](part map[string]V) []string { return slices.Collect(maps.Keys(part)) }

// reportUnknown reports a reference to something that the config does not declare.
func reportUnknown[V any](c *checker, at syntax.Position, what, name string, declared map[string]V) {
	if c.unreadable.has(name) {
		return
	}
	c.errorf(ruleUnknownName, at, nearestOrDeclare(c, name, declared, what), "the app has no %s %s", what,
		diagnostic.Quote(name))
}

// declaredIn is where each kind of thing is declared.
var declaredIn = map[string]string{
	"component": "components/", "action": "actions/", "runbook": "runbooks/", "input": "inputs.toml",
	"secret": "secrets.toml",
}

// nearestOrDeclare returns the hint for a name that is not declared: the nearest declared one, or where to
// declare it.
func nearestOrDeclare[V any](c *checker, name string, declared map[string]V, what string) string {
	if hint := c.nearestHint(name, keysOf(declared)); hint != "" {
		return hint
	}
	return "declare it in " + declaredIn[what]
}

// maxCompared bounds the pairs of bytes that are compared to find near names: for a config with
// thousands of long wrong names the search would take a minute.
const maxCompared = 50_000_000

// nearestHint returns a hint with the nearest of the known names, or "".
func (c *checker) nearestHint(name string, known []string) string {
	for _, other := range known {
		c.compared += len(name) * len(other)
	}
	if c.compared > maxCompared {
		return ""
	}
	return diagnostic.DidYouMean(name, known)
}

// has reports whether a table has a key.
func has(t *syntax.Table, key string) bool { return t.Get(key) != nil }
