package appconfig

import (
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// config is the content of all files of an app, before it is validated as a whole. The checks
// read it, and app makes an App of it. Lists are in reading order: by file name, then as in the
// file.
type config struct {
	options Options

	metadata *entry[format.Metadata] // nil if absent, like those that follow
	sandbox  *entry[format.Sandbox]
	runner   *entry[format.Runner]
	stack    *entry[format.Stack]

	groups         []*entry[format.InputGroup]
	inputs         []*entry[format.Input]
	secrets        []*entry[format.Secret]
	roles          []*entry[format.StandingRole] // those of permissions.toml have the type of their table's name
	breakGlass     []*entry[format.Role]
	operationRoles *entry[format.OperationRoles]
	contexts       []*entry[format.KubernetesContext]
	policies       []*entry[format.Policy]

	components []*component
	actions    []*entry[format.Action]
	runbooks   []*entry[format.Runbook]
	installs   []*entry[format.Install]
	branches   []*entry[format.Branch]

	installer     *entry[format.Installer]
	installSource *entry[format.InstallSource]
	triggers      *entry[map[string]any]

	// ownInputs is set if each input and group has its own file, so that their order is undefined.
	ownInputs  bool
	remote     []RemoteFile
	unreadable unreadableNames
}

// entry is one declaration of a file: its value as written, and its position.
type entry[T any] struct {
	value T
	table *syntax.Table // of the declaration itself, if the file holds several
	file  string
	keys  []format.Key
	texts map[string]fileText // of keys that refer to files, by key path
}

// component is a file of components/, of any kind. Exactly one of the kind fields is set; its
// embedded Component equals the one here.
type component struct {
	format.Component
	file  string
	table *syntax.Table
	keys  []format.Key
	texts map[string]fileText

	module   *format.TerraformModule
	chart    *format.HelmChart
	image    *format.ContainerImage
	build    *format.DockerBuild
	manifest *format.KubernetesManifest
	pulumi   *format.Pulumi
}

// kind returns the struct with all keys of the component.
func (c *component) kind() any {
	switch {
	case c.module != nil:
		return c.module
	case c.chart != nil:
		return c.chart
	case c.image != nil:
		return c.image
	case c.build != nil:
		return c.build
	case c.manifest != nil:
		return c.manifest
	}
	return c.pulumi
}

// repositories returns the origin of the component's code, as written; an image has none.
func (c *component) repositories() format.Repositories {
	switch {
	case c.module != nil:
		return c.module.Repositories
	case c.chart != nil:
		return c.chart.Repositories
	case c.build != nil:
		return c.build.Repositories
	case c.manifest != nil:
		return c.manifest.Repositories
	case c.pulumi != nil:
		return c.pulumi.Repositories
	}
	return format.Repositories{}
}

// deployable reports whether nuon deploys components of this kind so far.
func (c *component) deployable() bool { return deploys(c.Type) }

// fileText is the text of the file that a key refers to.
type fileText struct {
	text string
	file string // path below the config directory, or the reference if the file is remote
	// unknown is set if the text was not read: the file is remote, or missing and reported. Checks
	// skip it.
	unknown bool
}

// position converts a position in the text into one in its file. Lines and columns count from 1.
func (c fileText) position(line, column, width int) syntax.Position {
	return syntax.Position{File: c.file, Line: max(line, 1), Column: max(column, 1), Width: width}
}

// fragment is one text of a config, inline or in a file.
type fragment struct {
	owner string // "sandbox", "component web", "action smoke_test"; for messages
	path  string // of the key, such as vars.cidr
	text  string
	key   *format.Key
	node  *syntax.Node // the value of the key
	file  *fileText    // set if the text is in a file

	trace *syntax.Trace // set on the first call of place
}

// position converts a position in the text into one in the file that holds it.
func (f *fragment) position(line, column, width int) syntax.Position {
	if f.file != nil {
		return f.file.position(line, column, width)
	}
	if f.trace == nil {
		f.trace = f.node.Trace()
	}
	return f.trace.Inside(line, column, width)
}

// fragments returns the texts of one declaration for the keys that wanted accepts, except unknown
// texts.
func fragments(owner string, t *syntax.Table, keys []format.Key, from any, texts map[string]fileText,
	accept func(*format.Key) bool) []fragment {
	var all []fragment
	for text := range format.Texts(t, keys, from, accept) {
		f := fragment{owner: owner, path: text.Path, text: text.Value, key: text.Key, node: text.Node}
		if file, ok := texts[text.Path]; ok {
			if file.unknown {
				continue
			}
			f.text, f.file = file.text, &file
		}
		all = append(all, f)
	}
	return all
}

// templated selects the keys that are rendered.
func templated(k *format.Key) bool { return k.Template }
