package appconfig

import (
	"fmt"
	"maps"
	"slices"
)

// componentFile is one file of components/, of any kind.
type componentFile struct {
	name, kind, file string
	root             *table
	typed            *Component // nil for a kind that has no effect yet
	dependencies     []*node
}

// maxRetries bounds max_auto_retries; more would only hide a broken component.
const maxRetries = 100

func (l *loader) component(file string, root *table) {
	kind := root.text("type")
	keys, known := componentKinds[kind]
	switch {
	case kind == kindJob:
		l.errorf(file, root.place("type"), "write it as an action in actions/ with a post-deploy-component trigger",
			"components of type job are not supported")
		return
	case kind == "":
		l.check(file, "", root, componentKeys)
		return
	case !known:
		hint := didYouMean(kind, slices.Collect(maps.Keys(componentKinds)))
		if hint == "" {
			hint = componentKindNames()
		}
		l.errorf(file, root.place("type"), hint, "there is no component type %s", quoteShort(kind))
		return
	}
	idle, at := l.check(file, "", root, keys)
	c := &componentFile{name: root.text("name"), kind: kind, file: file, root: root}
	if n, ok := root.keys["dependencies"]; ok {
		if items, isList := n.value.([]*node); isList {
			c.dependencies = items
		}
	}
	l.checkName(file, root, "component", componentName)
	if kind == KindTerraformModule {
		l.sayIdle(file, at, idle)
		c.typed = l.terraform(file, root, "component "+c.name)
		c.typed.Name, c.typed.Kind = c.name, kind
		c.typed.Toggleable, c.typed.DefaultEnabled = root.flag("toggleable"), root.flag("default_enabled")
		if _, said := root.keys["default_enabled"]; said && !c.typed.Toggleable {
			c.typed.DefaultEnabled = false
			l.warnf(file, root.keys["default_enabled"].key, "write toggleable = true beside it, or remove it",
				"default_enabled has no effect on a component that cannot be switched off")
		}
		c.typed.Dependencies = slices.Compact(slices.Sorted(slices.Values(root.texts("dependencies"))))
		if len(c.typed.Dependencies) == 0 {
			c.typed.Dependencies = nil
		}
	} else {
		l.warnf(file, root.place("type"), "", "accepted, no effect yet: components of type %s", kind)
	}
	if kind == "external_image" {
		l.warnf(file, root.place("type"), `write "container_image"`, "external_image is the older name")
	}
	l.components = append(l.components, c)
}

func (l *loader) sandbox(file string, root *table) {
	switch engine := root.text("type"); engine {
	case "", "terraform":
	case "pulumi":
		l.check(file, "", root, pulumiSandboxKeys)
		l.warnf(file, root.place("type"), "", "accepted, no effect yet: a pulumi sandbox")
		return
	default:
		l.errorf(file, root.place("type"), `"terraform" is the default`, "there is no sandbox type %s", quoteShort(engine))
		return
	}
	idle, at := l.check(file, "", root, sandboxKeys)
	l.sayIdle(file, at, idle)
	l.app.Sandbox = l.terraform(file, root, SandboxName)
	l.app.Sandbox.Name, l.app.Sandbox.Kind = SandboxName, KindSandbox
}

// terraform reads what the sandbox and a terraform_module have in common.
func (l *loader) terraform(file string, root *table, owner string) *Component {
	c := &Component{
		TerraformVersion: root.text("terraform_version"),
		Vars:             l.templates(file, root, "vars", "vars", owner),
		EnvVars:          l.templates(file, root, "env_vars", "env_vars", owner),
		MaxAutoRetries:   root.number("max_auto_retries"),
	}
	if c.TerraformVersion != "" && !exactVersion.MatchString(c.TerraformVersion) {
		l.errorf(file, root.place("terraform_version"), `write it like "1.11.4"`,
			"terraform_version must be one exact version, not %s", quoteShort(c.TerraformVersion))
	}
	if c.MaxAutoRetries < 0 || c.MaxAutoRetries > maxRetries {
		l.errorf(file, root.place("max_auto_retries"), "", "max_auto_retries must be between 0 and %d", maxRetries)
	}
	l.checkVariableNames(file, root, "env_vars")
	for i, t := range root.tables("var_file") {
		found := l.inline(file, t, "contents")
		c.VarFiles = append(c.VarFiles, found.text)
		l.addFragment(owner, fmt.Sprintf("var_file[%d].contents", i), found)
	}
	if s := l.source(file, root); s != nil {
		c.Source = *s
	} else if root.keys["public_repo"] == nil && root.keys["connected_repo"] == nil {
		l.errorf(file, root.at, `repo = "." is the app's own repository`, "[public_repo] or [connected_repo] is missing")
	}
	return c
}

// templates reads a table of templates and notes each for checking.
func (l *loader) templates(file string, t *table, key, label, owner string) map[string]string {
	if values := t.object(key); values != nil {
		for _, name := range values.sorted() {
			if text, ok := values.keys[name].text(); ok {
				l.addFragment(owner, label+"."+name, content{text: text, file: file, node: values.keys[name]})
			}
		}
	}
	return t.textMap(key)
}

func (l *loader) checkVariableNames(file string, t *table, key string) {
	values := t.object(key)
	if values == nil {
		return
	}
	for _, name := range values.sorted() {
		if !variableName.MatchString(name) {
			l.errorf(file, values.keys[name].key, "use letters, digits and underscores", "%s is no name for an environment variable", quoteShort(name))
		}
	}
}
