package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// part is one item that a config declares, in the form of its file.
type part struct {
	kind, name string
	address    string // kind and name; only the kind for items that occur once
	section    string // the title under which it is listed; empty for the version of the app itself
	value      raw.Value
	component  *appconfig.Component // for a component or the sandbox
	code       []string             // the names of the code that it is built from, or that its steps run
}

// The kinds of parts; addresses start with them.
const (
	kindMetadata      = "metadata"
	kindSandbox       = "sandbox"
	kindRunner        = "runner"
	kindStack         = "stack"
	kindGroup         = "group"
	kindInput         = "input"
	kindComponent     = "component"
	kindAction        = "action"
	kindSecret        = "secret"
	kindPermission    = "permission"
	kindBreakGlass    = "break_glass"
	kindOperationRole = "operation_role"
	kindContext       = "kubernetes_context"
	kindPolicy        = "policy"
	kindRunbook       = "runbook"
	kindBranch        = "branch"
	kindInstaller     = "installer"
	kindInstalls      = "installs"
	kindTriggers      = "triggers"
	kindInstall       = "install"
)

// sectionInstalls is the title of the declared installs, which are no part of the version.
const sectionInstalls = "installs, which are no part of the version"

// orderedKinds lists the kinds whose order matters: users are asked in this order, or rules are
// evaluated in it.
var orderedKinds = []string{kindGroup, kindInput, kindOperationRole}

// exists reports whether the part stands for something outside of the config that is lost with the
// part.
func (p *part) exists() bool { return p.component != nil || p.kind == kindSecret }

// partCollector collects parts. It stores the first error.
type partCollector struct {
	parts []part
	seen  map[string]int
	err   error
}

// partsOf returns all parts of a config.
func partsOf(a *appconfig.App) ([]part, error) {
	g := &partCollector{seen: map[string]int{}}
	g.singles(a)
	g.lists(a)
	if a.Sandbox != nil {
		g.addComponent(kindSandbox, "", a.Sandbox)
	}
	for i := range a.Components {
		g.addComponent(kindComponent, a.Components[i].Name, &a.Components[i])
	}
	for i := range g.parts {
		if p := &g.parts[i]; p.kind == kindInstall {
			p.section = sectionInstalls
		}
	}
	return g.parts, g.err
}

// singles adds the items that occur once.
func (g *partCollector) singles(a *appconfig.App) {
	g.add(kindMetadata, "", a.Metadata)
	if a.Runner != nil {
		g.add(kindRunner, "", a.Runner)
	}
	if a.Stack != nil {
		g.add(kindStack, "", a.Stack)
	}
	if a.Installer != nil {
		g.add(kindInstaller, "", a.Installer)
	}
	if a.InstallSource != nil {
		g.add(kindInstalls, "", a.InstallSource)
	}
	if len(a.Triggers) > 0 {
		g.add(kindTriggers, "", a.Triggers)
	}
}

// lists adds the items that occur many times, except components.
func (g *partCollector) lists(a *appconfig.App) {
	for _, x := range a.Groups {
		g.add(kindGroup, x.Name, x)
	}
	for _, x := range a.Inputs {
		g.add(kindInput, x.Name, x)
	}
	for _, x := range a.Actions {
		p := g.add(kindAction, x.Name, x)
		for _, step := range x.Steps {
			if step.Source != nil {
				p.code = append(p.code, step.Source.ActionSourceName())
			}
		}
	}
	for _, x := range a.Secrets {
		g.add(kindSecret, x.Name, x)
	}
	for _, x := range a.Permissions {
		name := x.Type
		if name == "custom" { // every other type occurs once
			name += "/" + x.Name
		}
		g.add(kindPermission, name, x)
	}
	for _, x := range a.BreakGlass {
		g.add(kindBreakGlass, x.Name, x)
	}
	for _, x := range a.OperationRoles {
		g.add(kindOperationRole, x.Principal+"/"+x.Operation, x)
	}
	for _, x := range a.KubernetesContexts {
		g.add(kindContext, x.Name, x)
	}
	for _, x := range a.Policies {
		g.add(kindPolicy, x.Name, x)
	}
	for _, x := range a.Runbooks {
		g.add(kindRunbook, x.Name, x)
	}
	for _, x := range a.Branches {
		g.add(kindBranch, x.Name, x)
	}
	for _, x := range a.Installs {
		g.add(kindInstall, x.Name, x)
	}
}

// addComponent adds a component or the sandbox, under the name of its kind and its own.
func (g *partCollector) addComponent(kind, name string, c *appconfig.Component) {
	p := g.add(kind, name, c)
	p.component, p.code = c, []string{c.Name}
}

// add adds a part with a unique address.
func (g *partCollector) add(kind, name string, value any) *part {
	p := part{kind: kind, name: name, address: kind}
	if name != "" {
		p.address += "/" + name
	}
	if g.seen[p.address]++; g.seen[p.address] > 1 {
		p.address += fmt.Sprintf("#%d", g.seen[p.address])
	}
	doc, err := document(value)
	if err != nil && g.err == nil {
		g.err = fmt.Errorf("read %s of the config: %w", p.address, err)
	}
	if doc != nil {
		p.value = raw.Of(asWritten(kind, doc))
	}
	g.parts = append(g.parts, p)
	return &g.parts[len(g.parts)-1]
}

// document converts a value to its JSON form.
func document(value any) (map[string]any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var doc map[string]any
	return doc, decoder.Decode(&doc)
}

// asWritten restores the keys of the part's file where an App stores them elsewhere. Different parts
// remain different.
func asWritten(kind string, doc map[string]any) map[string]any {
	switch kind {
	case kindSandbox, kindComponent:
		componentAsWritten(kind, doc)
	case kindAction:
		steps, _ := doc["steps"].([]any)
		for _, step := range steps {
			if step, ok := step.(map[string]any); ok {
				sourceAsWritten(step)
			}
		}
	case kindInstall:
		lift(doc, "account")
		for _, key := range []string{"aws_account", "azure_account", "gcp_account"} {
			if account, ok := doc[key].(map[string]any); ok && len(account) == 0 {
				doc[key] = true // present but empty
			}
		}
	}
	return doc
}

// componentAsWritten moves the keys of a component's kind beside the keys that all kinds have.
func componentAsWritten(kind string, doc map[string]any) {
	if kind == kindSandbox {
		delete(doc, "name")
		doc["type"] = "terraform"
		if pulumi, ok := doc["pulumi"].(map[string]any); ok {
			doc["type"] = "pulumi"
			move(pulumi, "config", "pulumi_config")
		}
	}
	if docker, ok := doc["docker"].(map[string]any); ok {
		if contents, inline := docker["contents"]; inline {
			docker["dockerfile"] = map[string]any{"contents": contents}
			delete(docker, "contents")
		}
	}
	for _, key := range []string{"terraform", "helm", "image", "docker", "manifest", "pulumi"} {
		lift(doc, key)
	}
	for _, key := range []string{"var_file", "values_file"} {
		files, _ := doc[key].([]any)
		for i, text := range files {
			files[i] = map[string]any{"contents": text}
		}
	}
	if list, ok := doc["dependencies"].([]any); ok {
		slices.SortFunc(list, func(x, y any) int { return bytes.Compare([]byte(x.(string)), []byte(y.(string))) }) //nolint:forcetypeassert // an array of strings
	}
	sourceAsWritten(doc)
}

// sourceAsWritten converts the code source to the table of the file.
func sourceAsWritten(doc map[string]any) {
	source, ok := doc["source"].(map[string]any)
	if !ok {
		return
	}
	table := "public_repo"
	if source["connected"] == true {
		table = "connected_repo"
	}
	delete(source, "connected")
	delete(doc, "source")
	doc[table] = source
}

// lift moves the keys of a table into its parent.
func lift(doc map[string]any, key string) {
	inner, ok := doc[key].(map[string]any)
	if !ok {
		return
	}
	delete(doc, key)
	for name, value := range inner {
		doc[name] = value
	}
}

func move(doc map[string]any, from, to string) {
	if value, there := doc[from]; there {
		delete(doc, from)
		doc[to] = value
	}
}

// namesOf returns the names of the parts of a kind, in order.
func namesOf(parts []part, kind string) []string {
	var names []string
	for _, p := range parts {
		if p.kind == kind {
			names = append(names, strings.TrimPrefix(p.address, kind+"/"))
		}
	}
	return names
}
