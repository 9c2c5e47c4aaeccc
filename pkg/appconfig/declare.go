package appconfig

import (
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// maxDeclared bounds the declarations of one kind in an app.
const maxDeclared = 5000

// declare adds the declarations of a document to the config.
func (l *loader) declare(d document) {
	c := l.config
	switch d.section {
	case "metadata":
		c.metadata = only(l, d, c.metadata, "metadata")
	case "sandbox":
		l.declareSandbox(d)
	case "runner":
		c.runner = only(l, d, c.runner, "runner")
	case "stack":
		c.stack = only(l, d, c.stack, "stack")
	case "installer":
		c.installer = only(l, d, c.installer, "installer")
	case "installs":
		l.declareInstall(d)
	case "operation_roles":
		c.operationRoles = only(l, d, c.operationRoles, "operation-roles")
	case "triggers":
		l.declareTriggers(d)
	case "components":
		l.declareComponent(d)
	case "actions":
		c.actions = one(l, d, c.actions, "action")
	case "runbooks":
		c.runbooks = one(l, d, c.runbooks, "runbook")
	case "branch", "branches":
		c.branches = one(l, d, c.branches, "branch")
	default:
		l.declareList(d)
	}
	if what := noEffect(d.section); what != "" {
		l.warnf(ruleIdle, syntax.Start(d.file), "", "accepted, no effect yet: %s", what)
	}
}

// declareList reads the sections that are either one file with a list or a directory with one
// file per element.
func (l *loader) declareList(d document) {
	c := l.config
	switch d.section {
	case "inputs":
		l.declareInputs(d)
	case "input_groups":
		c.ownInputs = true
		c.groups = one(l, d, c.groups, "input-group")
	case "secrets":
		if d.single {
			c.secrets = one(l, d, c.secrets, "secret")
		} else {
			file := decode[format.Secrets](l, d, "secrets")
			c.secrets = each(l, d, c.secrets, file.keys, "secret", file.value.Secrets)
		}
	case "policies":
		if d.single {
			c.policies = one(l, d, c.policies, "policy")
		} else {
			file := decode[format.Policies](l, d, "policies")
			c.policies = each(l, d, c.policies, file.keys, "policy", file.value.Policies)
		}
	case "break_glass":
		l.declareBreakGlass(d)
	case "kubernetes_contexts":
		if d.single && d.table.Get("kubernetes_context") == nil {
			c.contexts = one(l, d, c.contexts, "kubernetes-context")
		} else {
			file := decode[format.KubernetesContexts](l, d, "kubernetes-contexts")
			c.contexts = each(l, d, c.contexts, file.keys, "kubernetes_context", file.value.Contexts)
		}
	case "permissions":
		l.declarePermissions(d)
	}
}

// decode reads a document as one kind of file, without the files that it refers to.
func decode[T any](l *loader, d document, kind string) *entry[T] {
	e := &entry[T]{table: d.table, file: d.file}
	of, _ := format.Find(kind) // kind names occur only in this file, and a test loads each kind
	e.keys = of.Keys()
	format.Decode(d.table, e.keys, &e.value, l.sayOf(d))
	return e
}

// sayOf returns the function that reports diagnostics of a document. If the whole document has no
// effect yet, one warning covers it, and those about single keys are dropped.
func (l *loader) sayOf(d document) func(diagnostic.Diagnostic) {
	quiet := noEffect(d.section) != ""
	if d.section == "components" {
		kind, _ := d.table.Get("type").Text()
		quiet = !deploys(kind)
	}
	return func(told diagnostic.Diagnostic) {
		if !quiet || told.Rule != ruleIdle {
			l.add(told)
		}
	}
}

// only reads a document of which an app has at most one.
func only[T any](l *loader, d document, before *entry[T], kind string) *entry[T] {
	if before != nil {
		return before // reported as both forms
	}
	e := decode[T](l, d, kind)
	e.texts = l.inline(d, e.table, e.keys, &e.value)
	return e
}

// one reads a document that is one element of a list.
func one[T any](l *loader, d document, all []*entry[T], kind string) []*entry[T] {
	if l.crowded(d, d.table, len(all)) {
		return all
	}
	e := decode[T](l, d, kind)
	e.texts = l.inline(d, e.table, e.keys, &e.value)
	return append(all, e)
}

// each reads the elements that a document lists under a key. keys are those of the document.
func each[T any](l *loader, d document, all []*entry[T], keys []format.Key, key string, values []T) []*entry[T] {
	items, _ := d.table.Get(key).Items()
	i := slices.IndexFunc(keys, func(k format.Key) bool { return k.Name == key })
	if i < 0 || len(items) != len(values) {
		return all // of the wrong shape, which is reported already
	}
	for n, item := range items {
		table := item.Table()
		if table == nil {
			continue
		}
		if l.crowded(d, table, len(all)) {
			break
		}
		e := &entry[T]{value: values[n], table: table, file: table.At.File, keys: keys[i].Keys}
		e.texts = l.inline(d, table, e.keys, &e.value)
		all = append(all, e)
	}
	return all
}

// crowded reports when there are too many declarations of one kind. The rest is skipped.
func (l *loader) crowded(d document, t *syntax.Table, so int) bool {
	if so < maxDeclared {
		return false
	}
	l.errorf(ruleTooMany, t.At, "split the app", "there are more than %d %s", maxDeclared, d.section)
	return true
}

func (l *loader) declareInputs(d document) {
	c := l.config
	if d.single {
		c.ownInputs = true
		c.inputs = one(l, d, c.inputs, "input")
		return
	}
	file := decode[format.Inputs](l, d, "inputs")
	c.groups = each(l, d, c.groups, file.keys, "group", file.value.Groups)
	c.inputs = each(l, d, c.inputs, file.keys, "input", file.value.Inputs)
}

func (l *loader) declareBreakGlass(d document) {
	c := l.config
	if !d.single || d.table.Get("role") != nil {
		file := decode[format.BreakGlass](l, d, "break-glass")
		c.breakGlass = each(l, d, c.breakGlass, file.keys, "role", file.value.Roles)
		return
	}
	c.breakGlass = one(l, d, c.breakGlass, "break-glass-role")
}

// declarePermissions reads a standing role, or a file with one role for each of the types.
func (l *loader) declarePermissions(d document) {
	c := l.config
	if d.single {
		c.roles = one(l, d, c.roles, "role")
		return
	}
	file := decode[format.Permissions](l, d, "permissions")
	roles := []struct {
		key, kind string
		role      *format.Role
	}{
		{"provision_role", "provision", file.value.ProvisionRole},
		{"deprovision_role", "deprovision", file.value.DeprovisionRole},
		{"maintenance_role", "maintenance", file.value.MaintenanceRole},
	}
	of, _ := format.Find("role")
	for _, r := range roles {
		table := d.table.Get(r.key).Table()
		if r.role == nil || table == nil {
			continue
		}
		e := &entry[format.StandingRole]{value: format.StandingRole{Type: r.kind, Role: *r.role}, table: table,
			file: table.At.File, keys: of.Keys()}
		e.texts = l.inline(d, table, e.keys, &e.value)
		c.roles = append(c.roles, e)
	}
}

// declareInstall reads a file of installs/, or installs.toml, which names a repository of such
// files.
func (l *loader) declareInstall(d document) {
	c := l.config
	if d.single {
		c.installs = one(l, d, c.installs, "install")
		return
	}
	c.installSource = only(l, d, c.installSource, "installs")
	l.warnf(ruleIdle, syntax.Start(d.file), "", "accepted, no effect yet: a repository of installs")
}

// declareTriggers stores triggers.toml, which no code interprets.
func (l *loader) declareTriggers(d document) {
	value, _ := format.Plain(d.table).(map[string]any)
	l.config.triggers = &entry[map[string]any]{value: value, table: d.table, file: d.file}
}

func (l *loader) declareSandbox(d document) {
	if l.config.sandbox != nil {
		return
	}
	if engine, _ := d.table.Get("type").Text(); engine == "pulumi" {
		l.warnf(ruleIdle, d.table.Place("type"), "", "accepted, no effect yet: a pulumi sandbox")
	}
	l.config.sandbox = only[format.Sandbox](l, d, nil, "sandbox")
}
