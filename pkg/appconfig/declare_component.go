package appconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// kindJob is a former kind of component.
const kindJob = "job"

// componentKinds returns all kinds of components.
func componentKinds() []string {
	var kinds []string
	for _, kind := range format.Kinds() {
		if kind.Component != "" {
			kinds = append(kinds, kind.Component)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// declareComponent reads a file of components/. Its type determines its keys.
func (l *loader) declareComponent(d document) {
	c := l.config
	if l.crowded(d, d.table, len(c.components)) {
		return
	}
	l.mendType(d)
	kind, _ := d.table.Get("type").Text()
	found := &component{file: d.file, table: d.table}
	switch kind {
	case format.KindTerraformModule:
		found.module = componentOf(l, d, found, &format.TerraformModule{})
		found.Component = found.module.Component
	case format.KindHelmChart:
		found.chart = componentOf(l, d, found, &format.HelmChart{})
		found.Component = found.chart.Component
		l.readValuesFiles(d, found)
	case format.KindContainerImage, "external_image":
		found.image = componentOf(l, d, found, &format.ContainerImage{})
		found.Component = found.image.Component
	case format.KindDockerBuild:
		found.build = componentOf(l, d, found, &format.DockerBuild{})
		found.Component = found.build.Component
		l.readDockerfile(d, found)
	case format.KindKubernetesManifest:
		found.manifest = componentOf(l, d, found, &format.KubernetesManifest{})
		found.Component = found.manifest.Component
	case format.KindPulumi:
		found.pulumi = componentOf(l, d, found, &format.Pulumi{})
		found.Component = found.pulumi.Component
	default:
		l.badType(d, kind)
		return
	}
	if !deploys(kind) {
		l.warnf(ruleIdle, d.table.Place("type"), "", "accepted, no effect yet: components of type %s", kind)
	}
	c.components = append(c.components, found)
}

// componentOf decodes the keys of one kind of component.
func componentOf[T any](l *loader, d document, found *component, into *T) *T {
	kind, _ := d.table.Get("type").Text()
	if kind == "external_image" {
		kind = format.KindContainerImage
	}
	of, _ := format.Find(kind)
	found.keys = of.Keys()
	format.Decode(d.table, found.keys, into, l.sayOf(d))
	found.texts = l.inline(d, d.table, found.keys, into)
	return into
}

// mendType reports a misspelled type key and reads it as type: without the type, every other key
// would be unknown.
func (l *loader) mendType(d document) {
	if d.table.Get("type") != nil {
		return
	}
	var known []string
	for _, kind := range componentKinds() {
		of, _ := format.Find(kind)
		for _, key := range of.Keys() {
			known = append(known, key.Name)
		}
	}
	for name, n := range d.table.Each {
		if near, _ := diagnostic.Nearest(name, known); near == "type" {
			l.errorf(format.RuleUnknownKey, n.Key, diagnostic.DidYouMean(name, known),
				"unknown key %s", diagnostic.Quote(name))
			d.table.Rename(name, "type")
			return
		}
	}
}

// likelyKind returns the kind of component that has the most keys in common with a table.
func likelyKind(table *syntax.Table) string {
	best, most := format.KindHelmChart, 0
	for _, kind := range componentKinds() {
		of, _ := format.Find(kind)
		has := 0
		for name := range table.Each {
			if slices.ContainsFunc(of.Keys(),
				func(k format.Key) bool { return k.Name == name && !k.Gone && !k.Stray }) {
				has++
			}
		}
		if has > most {
			best, most = kind, has
		}
	}
	return best
}

// badType reports a component of a missing or unknown type.
func (l *loader) badType(d document, kind string) {
	l.config.lost.table(d.table)
	switch {
	case d.table.Get("type") == nil, kind == "":
		l.errorf(ruleMissingKey, d.table.At, fmt.Sprintf("write type = %q", likelyKind(d.table)), `"type" is missing`)
	case kind == kindJob:
		l.errorf(ruleGoneKind, d.table.Place("type"),
			"write it as an action in actions/ with a post-deploy-component trigger",
			"components of type job are not supported")
	default:
		hint := diagnostic.DidYouMean(kind, componentKinds())
		if hint == "" {
			hint = "known kinds: " + strings.Join(componentKinds(), ", ")
		}
		l.errorf(ruleWrongValue, d.table.Place("type"), hint, "there is no component type %s", diagnostic.Quote(kind))
	}
}

// readValuesFiles reads the files of values_file.path, whose value is always a path.
func (l *loader) readValuesFiles(d document, c *component) {
	for i := range c.chart.ValuesFiles {
		file := &c.chart.ValuesFiles[i]
		path := syntax.Item("values_file", i) + ".path"
		if file.Path == "" || isRemote(file.Path) || strings.Contains(file.Path, "{{") {
			continue
		}
		at := d.table.Place(path)
		c.texts = l.hold(c.texts, path, l.local(d.where(at), at, file.Path))
	}
}

// readDockerfile reads the Dockerfile if it is a file beside the config. Otherwise it is a path
// in the source's directory, which may start with ./ too.
func (l *loader) readDockerfile(d document, c *component) {
	name := c.build.Dockerfile
	switch {
	case isRemote(name):
		held := l.remoteText(d.table.Place("dockerfile"), "dockerfile", name)
		c.texts = l.hold(c.texts, "dockerfile", held)
	case isReference(name):
		for _, candidate := range candidates(d.where(d.table.Place("dockerfile")), name) {
			if text, err := l.text(candidate); err == nil {
				c.texts = l.hold(c.texts, "dockerfile", content{text: text, file: candidate})
				return
			}
		}
	}
}

func (l *loader) hold(texts map[string]content, path string, held content) map[string]content {
	if texts == nil {
		texts = map[string]content{}
	}
	texts[path] = held
	return texts
}
