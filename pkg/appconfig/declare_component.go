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
	if l.tooMany(d, d.table, len(c.components)) {
		return
	}
	l.fixTypeKey(d)
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
		l.reportType(d, kind)
		return
	}
	if !deploys(found.Type) {
		l.warnf(ruleNoEffectYet, d.table.Position("type"), "", "accepted, no effect yet: components of type %s", kind)
	}
	c.components = append(c.components, found)
}

// componentOf decodes the keys of one kind of component.
func componentOf[T any](l *loader, d document, found *component, into *T) *T {
	kind, _ := d.table.Get("type").Text()
	if kind == "external_image" {
		kind = format.KindContainerImage
	}
	k, _ := format.FindKind(kind)
	found.keys = k.Keys()
	format.Decode(d.table, found.keys, into, l.reporterOf(d))
	found.texts = l.inlineFiles(d, d.table, found.keys, into)
	return into
}

// fixTypeKey reports a misspelled type key and reads it as type: without the type, every other key
// would be unknown.
func (l *loader) fixTypeKey(d document) {
	if d.table.Get("type") != nil {
		return
	}
	var known []string
	for _, kind := range componentKinds() {
		k, _ := format.FindKind(kind)
		for _, key := range k.Keys() {
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
		k, _ := format.FindKind(kind)
		matches := 0
		for name := range table.Each {
			if slices.ContainsFunc(k.Keys(),
				func(k format.Key) bool { return k.Name == name && !k.Removed && !k.Unsupported }) {
				matches++
			}
		}
		if matches > most {
			best, most = kind, matches
		}
	}
	return best
}

// reportType reports a component of a missing or unknown type.
func (l *loader) reportType(d document, kind string) {
	l.config.unreadable.addTable(d.table)
	switch {
	case d.table.Get("type") == nil, kind == "":
		l.errorf(ruleMissingKey, d.table.At, fmt.Sprintf("write type = %q", likelyKind(d.table)), `"type" is missing`)
	case kind == kindJob:
		l.errorf(ruleRemovedKind, d.table.Position("type"),
			"write it as an action in actions/ with a post-deploy-component trigger",
			"components of type job are not supported")
	default:
		hint := diagnostic.DidYouMean(kind, componentKinds())
		if hint == "" {
			hint = "known kinds: " + strings.Join(componentKinds(), ", ")
		}
		l.errorf(ruleWrongValue, d.table.Position("type"), hint, "there is no component type %s", diagnostic.Quote(kind))
	}
}

// readValuesFiles reads the files of values_file.path, whose value is always a path.
func (l *loader) readValuesFiles(d document, c *component) {
	for i := range c.chart.ValuesFiles {
		file := &c.chart.ValuesFiles[i]
		path := syntax.JoinIndex("values_file", i) + ".path"
		if file.Path == "" || isRemote(file.Path) || strings.Contains(file.Path, "{{") {
			continue
		}
		at := d.table.Position(path)
		c.texts = l.setText(c.texts, path, l.localFile(d.inFileOf(at), at, file.Path, false))
	}
}

// readDockerfile reads the Dockerfile if it is a file beside the config. Otherwise it is a path
// in the source's directory, which may start with ./ too.
func (l *loader) readDockerfile(d document, c *component) {
	name := c.build.Dockerfile
	switch {
	case isRemote(name):
		file := l.remoteFile(d.table.Position("dockerfile"), "dockerfile", name)
		c.texts = l.setText(c.texts, "dockerfile", file)
	case isReference(name):
		for _, candidate := range candidates(d.inFileOf(d.table.Position("dockerfile")), name) {
			if text, err := l.readText(candidate); err == nil {
				c.texts = l.setText(c.texts, "dockerfile", fileText{text: text, file: candidate})
				return
			}
		}
	}
}

func (l *loader) setText(texts map[string]fileText, path string, text fileText) map[string]fileText {
	if texts == nil {
		texts = map[string]fileText{}
	}
	texts[path] = text
	return texts
}
