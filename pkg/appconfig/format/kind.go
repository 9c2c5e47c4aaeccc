package format

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Kind is one kind of file.
type Kind struct {
	// Name is the name for editors, `nuon schema` and the schema hint on the first line of a file,
	// such as helm or input-group.
	Name string `json:"name"`
	// Aliases are other names that FindKind accepts. It treats dashes and underscores alike.
	Aliases []string `json:"aliases,omitempty"`
	// Paths are the locations of such files, such as sandbox.toml or components/*.toml, which
	// matches at any depth below components.
	Paths []string `json:"paths"`
	// Component is the value of the key type in files of the kind, if it is a kind of component.
	Component string `json:"component,omitempty"`
	// Description has complete sentences, from the comment of the type.
	Description string `json:"description"`
	// NoEffectYet says that such files are accepted and checked, and nothing in nuon acts on them
	// so far.
	NoEffectYet bool `json:"idle,omitempty"`
	// OpenEnded is true if such a file may have any key; the kind has no Keys then.
	OpenEnded bool `json:"open,omitempty"`
	// Type is the struct for such a file, or a map if OpenEnded is true.
	Type reflect.Type `json:"-"`

	keys func() []Key
}

// Kinds returns all kinds of file, in the order of the documentation. Callers must not change them.
func Kinds() []Kind { return kinds() }

// FindKind returns the kind with a name or alias: those of the schema hint on the first line of a
// file, and the values of a component's type.
func FindKind(name string) (Kind, bool) {
	name = strings.ReplaceAll(name, "_", "-")
	for _, k := range kinds() {
		if k.Name == name || slices.Contains(k.Aliases, name) {
			return k, true
		}
	}
	return Kind{}, false
}

// Keys returns the keys of the kind, in the order of the fields; the keys of an embedded struct
// take its position. Callers must not change them.
func (k Kind) Keys() []Key { return k.keys() }

// Key returns the key at a path such as steps.env_vars. Keys below a table of strings are not keys
// of the format.
func (k Kind) Key(path string) (Key, bool) {
	keys, found := k.Keys(), Key{}
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(keys, func(key Key) bool { return key.Name == name })
		if i < 0 {
			return Key{}, false
		}
		found, keys = keys[i], keys[i].Keys
	}
	return found, true
}

var kinds = sync.OnceValue(func() []Kind {
	return []Kind{
		kind[Metadata]("metadata", "", "metadata.toml"),
		kind[Sandbox]("sandbox", "", "sandbox.toml"),
		kind[Runner]("runner", "", "runner.toml"),
		kind[Stack]("stack", "", "stack.toml"),
		kind[Inputs]("inputs", "", "inputs.toml"),
		kind[Input]("input", "", "inputs/*.toml"),
		kind[InputGroup]("input-group", "", "input_groups/*.toml").withAliases("group", "input-groups"),
		kind[Secrets]("secrets", "", "secrets.toml"),
		kind[Secret]("secret", "", "secrets/*.toml"),
		kind[Permissions]("permissions", "", "permissions.toml"),
		kind[StandingRole]("role", "", "permissions/*.toml").withAliases("permission", "standing-role"),
		kind[BreakGlass]("break-glass", "", "break_glass.toml", "break_glass/*.toml"),
		kind[Role]("break-glass-role", "", "break_glass/*.toml").describedAs(
			"A role that is disabled until the customer enables it; a file below break_glass/ contains a single one."),
		kind[OperationRoles]("operation-roles", "", "operation_roles.toml"),
		kind[KubernetesContexts]("kubernetes-contexts", "", "kubernetes_contexts.toml", "kubernetes_contexts/*.toml"),
		kind[KubernetesContext]("kubernetes-context", "", "kubernetes_contexts/*.toml"),
		kind[Policies]("policies", "", "policies.toml"),
		kind[Policy]("policy", "", "policies/*.toml"),
		kind[Component]("component", "", "components/*.toml").withAliases("component-root", "components"),
		kind[TerraformModule]("terraform", KindTerraformModule, "components/*.toml"),
		kind[HelmChart]("helm", KindHelmChart, "components/*.toml"),
		kind[ContainerImage]("container-image", KindContainerImage, "components/*.toml").
			withAliases("external-image", "image"),
		kind[DockerBuild]("docker-build", KindDockerBuild, "components/*.toml").withAliases("docker"),
		kind[KubernetesManifest]("kubernetes-manifest", KindKubernetesManifest, "components/*.toml").withAliases("manifest"),
		kind[Pulumi]("pulumi", KindPulumi, "components/*.toml").noEffectYet(),
		kind[Action]("action", "", "actions/*.toml").withAliases("actions"),
		kind[Runbook]("runbook", "", "runbooks/*.toml").withAliases("runbooks").noEffectYet(),
		kind[Install]("install", "", "installs/*.toml"),
		kind[InstallSource]("installs", "", "installs.toml").withAliases("install-source", "installs-source").noEffectYet(),
		kind[Branch]("branch", "", "branch.toml", "branches/*.toml").withAliases("branches").noEffectYet(),
		kind[Triggers]("triggers", "", "triggers.toml").noEffectYet(),
		kind[Installer]("installer", "", "installer.toml").noEffectYet(),
		kind[SingleFile]("full", "", "nuon.*.toml").withAliases("single-file", "app"),
	}
})

// kind returns the kind of file that T represents. A kind of component has the value of its type as
// an alias.
func kind[T any](name, component string, paths ...string) Kind {
	t := reflect.TypeFor[T]()
	k := Kind{
		Name: name, Component: component, Paths: paths, Type: t, OpenEnded: t.Kind() == reflect.Map,
		Description: describe(t.Name()),
	}
	k.keys = sync.OnceValue(func() []Key { return keysOf(t, nil) })
	if as := strings.ReplaceAll(component, "_", "-"); as != "" && as != name {
		k.Aliases = []string{as}
	}
	return k
}

func (k Kind) withAliases(names ...string) Kind {
	k.Aliases = append(k.Aliases, names...)
	return k
}

// noEffectYet marks a kind that has no effect yet.
func (k Kind) noEffectYet() Kind {
	k.NoEffectYet = true
	return k
}

// describedAs sets the description of a kind whose type has other uses.
func (k Kind) describedAs(text string) Kind {
	k.Description = text
	return k
}
