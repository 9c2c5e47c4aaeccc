package appconfig

import (
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// config is everything that the files of an app say, before it is known what it means together. Checks read it, and build makes an App
// of it. Lists are in the order in which the files were read: by name of file, then as in the file.
type config struct {
	options Options

	metadata *entry[format.Metadata] // nil if there is none; so are all that follow
	sandbox  *entry[format.Sandbox]
	runner   *entry[format.Runner]
	stack    *entry[format.Stack]

	groups         []*entry[format.InputGroup]
	inputs         []*entry[format.Input]
	secrets        []*entry[format.Secret]
	roles          []*entry[format.StandingRole] // those of permissions.toml have the type that the name of their table says
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

	// ownInputs says that each input and group is a file of its own, so that their order means nothing.
	ownInputs bool
	remote    []RemoteFile
	lost      lost
}

// entry is one thing that a file declares: as it is written, and where.
type entry[T any] struct {
	value T
	table *syntax.Table // of the thing itself, if the file holds several
	file  string
	keys  []format.Key
	texts map[string]content // of the keys that refer to files, by their paths
}

// component is a file of components/, of any kind. Exactly one of the kinds is set, whose embedded Component is what is beside it.
type component struct {
	format.Component
	file  string
	table *syntax.Table
	keys  []format.Key
	texts map[string]content

	module   *format.TerraformModule
	chart    *format.HelmChart
	image    *format.ContainerImage
	build    *format.DockerBuild
	manifest *format.KubernetesManifest
	pulumi   *format.Pulumi
}

// kind is the struct that holds all keys of the component.
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

// repositories gives where its code comes from, as written; images come from no repository.
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

// deployable says whether nuon deploys components of its kind so far.
func (c *component) deployable() bool { return deploys(c.Type) }

// content is the text that a key stands for when it refers to a file.
type content struct {
	text string
	file string // that holds the text: below the config directory, or the reference if it is remote
	// unknown says that the text was not read: the file is missing, which has been told, or remote. Checks leave it out.
	unknown bool
}

// place turns a place in the text into one in a file. Lines and columns count from 1.
func (c content) place(line, column, width int) syntax.Position {
	return syntax.Position{File: c.file, Line: max(line, 1), Column: max(column, 1), Width: width}
}

// fragment is one text of a config, wherever it is written.
type fragment struct {
	owner string // "sandbox", "component web", "action smoke_test"; for sentences
	path  string // of the key, such as vars.cidr
	text  string
	key   *format.Key
	node  *syntax.Node // the value of the key
	file  *content     // nil unless the text is that of a file

	trace *syntax.Trace // once a place was asked for
}

// place turns a place in the text into one in the file that holds it.
func (f *fragment) place(line, column, width int) syntax.Position {
	if f.file != nil {
		return f.file.place(line, column, width)
	}
	if f.trace == nil {
		f.trace = f.node.Trace()
	}
	return f.trace.Inside(line, column, width)
}

// fragments gives the texts of one thing for the keys that are wanted. Texts that are not known are left out.
func fragments(owner string, t *syntax.Table, keys []format.Key, from any, texts map[string]content, wanted func(*format.Key) bool) []fragment {
	var all []fragment
	for text := range format.Texts(t, keys, from, wanted) {
		f := fragment{owner: owner, path: text.Path, text: text.Value, key: text.Key, node: text.Node}
		if held, ok := texts[text.Path]; ok {
			if held.unknown {
				continue
			}
			f.text, f.file = held.text, &held
		}
		all = append(all, f)
	}
	return all
}

// templated wants the keys that are rendered.
func templated(k *format.Key) bool { return k.Template }
