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
		c.metadata = decodeSingle(l, d, c.metadata, "metadata")
	case "sandbox":
		l.declareSandbox(d)
	case "runner":
		c.runner = decodeSingle(l, d, c.runner, "runner")
	case "stack":
		c.stack = decodeSingle(l, d, c.stack, "stack")
	case "installer":
		c.installer = decodeSingle(l, d, c.installer, "installer")
	case "installs":
		l.declareInstall(d)
	case "operation_roles":
		c.operationRoles = decodeSingle(l, d, c.operationRoles, "operation-roles")
	case "triggers":
		l.declareTriggers(d)
	case "components":
		l.declareComponent(d)
	case "actions":
		c.actions = decodeElement(l, d, c.actions, "action")
	case "runbooks":
		c.runbooks = decodeElement(l, d, c.runbooks, "runbook")
	case "branch", "branches":
		c.branches = decodeElement(l, d, c.branches, "branch")
	default:
		l.declareList(d)
	}
	if what := noEffect(d.section); what != "" {
		l.warnf(ruleNoEffectYet, syntax.Start(d.file), "", "accepted, no effect yet: %s", what)
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
		c.groups = decodeElement(l, d, c.groups, "input-group")
	case "secrets":
		if d.single {
			c.secrets = decodeElement(l, d, c.secrets, "secret")
		} else {
			file := decode[format.Secrets](l, d, "secrets")
			c.secrets = decodeList(l, d, c.secrets, file.keys, "secret", file.value.Secrets)
		}
	case "policies":
		if d.single {
			c.policies = decodeElement(l, d, c.policies, "policy")
		} else {
			file := decode[format.Policies](l, d, "policies")
			c.policies = decodeList(l, d, c.policies, file.keys, "policy", file.value.Policies)
		}
	case "break_glass":
		l.declareBreakGlass(d)
	case "kubernetes_contexts":
		if d.single && d.table.Get("kubernetes_context") == nil {
			c.contexts = decodeElement(l, d, c.contexts, "kubernetes-context")
		} else {
			file := decode[format.KubernetesContexts](l, d, "kubernetes-contexts")
			c.contexts = decodeList(l, d, c.contexts, file.keys, "kubernetes_context", file.value.Contexts)
		}
	case "permissions":
		l.declarePermissions(d)
	}
}

// decode reads a document as one kind of file, without the files that it refers to.
func decode[T any](l *loader, d document, kind string) *entry[T] {
	e := &entry[T]{table: d.table, file: d.file}
	k, _ := format.FindKind(kind) // kind names occur only in this file, and a test loads each kind
	e.keys = k.Keys()
	format.Decode(d.table, e.keys, &e.value, l.reporterOf(d))
	return e
}

// reporterOf returns the function that reports diagnostics of a document. If the whole document has no
// effect yet, one warning covers it, and those about single keys are dropped.
func (l *loader) reporterOf(d document) func(diagnostic.Diagnostic) {
	quiet := noEffect(d.section) != ""
	if d.section == "components" {
		kind, _ := d.table.Get("type").Text()
		quiet = !deploys(kind)
	}
	return func(diag diagnostic.Diagnostic) {
		if !quiet || diag.Rule != ruleNoEffectYet {
			l.add(diag)
		}
	}
}

// decodeSingle reads a document of which an app has at most one.
func decodeSingle[T any](l *loader, d document, existing *entry[T], kind string) *entry[T] {
	if existing != nil {
		return existing // reported as both forms
	}
	e := decode[T](l, d, kind)
	e.texts = l.inlineFiles(d, e.table, e.keys, &e.value)
	return e
}

// decodeElement reads a document that is one element of a list.
func decodeElement[T any](l *loader, d document, all []*entry[T], kind string) []*entry[T] {
	if l.tooMany(d, d.table, len(all)) {
		return all
	}
	e := decode[T](l, d, kind)
	e.texts = l.inlineFiles(d, e.table, e.keys, &e.value)
	return append(all, e)
}

// decodeList reads the elements that a document lists under a key. keys are those of the document.
func decodeList[T any](l *loader, d document, all []*entry[T], keys []format.Key, key string, values []T) []*entry[T] {
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
		if l.tooMany(d, table, len(all)) {
			break
		}
		e := &entry[T]{value: values[n], table: table, file: table.At.File, keys: keys[i].Keys}
		e.texts = l.inlineFiles(d, table, e.keys, &e.value)
		all = append(all, e)
	}
	return all
}

// tooMany reports when there are too many declarations of one kind. The rest is skipped.
func (l *loader) tooMany(d document, t *syntax.Table, count int) bool {
	if count < maxDeclared {
		return false
	}
	l.errorf(ruleTooMany, t.At, "split the app", "there are more than %d %s", maxDeclared, d.section)
	return true
}

func (l *loader) declareInputs(d document) {
	c := l.config
	if d.single {
		c.ownInputs = true
		c.inputs = decodeElement(l, d, c.inputs, "input")
		return
	}
	file := decode[format.Inputs](l, d, "inputs")
	c.groups = decodeList(l, d, c.groups, file.keys, "group", file.value.Groups)
	c.inputs = decodeList(l, d, c.inputs, file.keys, "input", file.value.Inputs)
}

func (l *loader) declareBreakGlass(d document) {
	c := l.config
	if !d.single || d.table.Get("role") != nil {
		file := decode[format.BreakGlass](l, d, "break-glass")
		c.breakGlass = decodeList(l, d, c.breakGlass, file.keys, "role", file.value.Roles)
		return
	}
	c.breakGlass = decodeElement(l, d, c.breakGlass, "break-glass-role")
}

// declarePermissions reads a standing role, or a file with one role for each of the types.
func (l *loader) declarePermissions(d document) {
	c := l.config
	if d.single {
		c.roles = decodeElement(l, d, c.roles, "role")
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
	k, _ := format.FindKind("role")
	for _, r := range roles {
		table := d.table.Get(r.key).Table()
		if r.role == nil || table == nil {
			continue
		}
		e := &entry[format.StandingRole]{value: format.StandingRole{Type: r.kind, Role: *r.role}, table: table,
			file: table.At.File, keys: k.Keys()}
		e.texts = l.inlineFiles(d, table, e.keys, &e.value)
		c.roles = append(c.roles, e)
	}
}

// declareInstall reads a file of installs/, or installs.toml, which names a repository of such
// files.
func (l *loader) declareInstall(d document) {
	c := l.config
	if d.single {
		c.installs = decodeElement(l, d, c.installs, "install")
		return
	}
	c.installSource = decodeSingle(l, d, c.installSource, "installs")
	l.warnf(ruleNoEffectYet, syntax.Start(d.file), "", "accepted, no effect yet: a repository of installs")
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
		l.warnf(ruleNoEffectYet, d.table.Position("type"), "", "accepted, no effect yet: a pulumi sandbox")
	}
	l.config.sandbox = decodeSingle[format.Sandbox](l, d, nil, "sandbox")
}
