package format

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Kind is one kind of file.
type Kind struct {
	// Name, as editors, `nuon schema` and the hint on the first line of a file know it, such as helm or input-group.
	Name string `json:"name"`
	// Aliases are other names that Find knows it by. Dashes and underscores are the same to it.
	Aliases []string `json:"aliases,omitempty"`
	// Paths are where files of the kind are, such as sandbox.toml or components/*.toml, which means at any depth below components.
	Paths []string `json:"paths"`
	// Component is the value of the key type in files of the kind, if it is a kind of component.
	Component string `json:"component,omitempty"`
	// Description is from the comment of the type: whole sentences.
	Description string `json:"description"`
	// NoEffectYet says that such files are accepted and checked, and nothing in nuon acts on them so far.
	NoEffectYet bool `json:"idle,omitempty"`
	// OpenEnded says that any key may stand in such a file; it has no Keys then.
	OpenEnded bool `json:"open,omitempty"`
	// Type is the struct that holds such a file; a map, if it is open.
	Type reflect.Type `json:"-"`

	keys func() []Key
}

// Kinds are all kinds of file, in the order of the documentation. Callers must not write to them.
func Kinds() []Kind { return kinds() }

// FindKind is the kind with this name or alias: those of the hint on the first line of a file, and the values of a component's type.
func FindKind(name string) (Kind, bool) {
	name = strings.ReplaceAll(name, "_", "-")
	for _, k := range kinds() {
		if k.Name == name || slices.Contains(k.Aliases, name) {
			return k, true
		}
	}
	return Kind{}, false
}

// Keys are the keys of the kind, in the order of the fields, those of the parts that kinds have in common where these are embedded.
// They are found once; callers must not write to them.
func (k Kind) Keys() []Key { return k.keys() }

// Key is the key at path, such as steps.env_vars. Keys below a table of strings are not keys of the format.
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
		kind[Stack]("stack", "", "stack.toml").noEffectYet(),
		kind[Inputs]("inputs", "", "inputs.toml"),
		kind[Input]("input", "", "inputs/*.toml"),
		kind[InputGroup]("input-group", "", "input_groups/*.toml").withAliases("group", "input-groups"),
		kind[Secrets]("secrets", "", "secrets.toml").noEffectYet(),
		kind[Secret]("secret", "", "secrets/*.toml").noEffectYet(),
		kind[Permissions]("permissions", "", "permissions.toml").noEffectYet(),
		kind[StandingRole]("role", "", "permissions/*.toml").withAliases("permission", "standing-role").noEffectYet(),
		kind[BreakGlass]("break-glass", "", "break_glass.toml", "break_glass/*.toml").noEffectYet(),
		kind[Role]("break-glass-role", "", "break_glass/*.toml").describedAs("A role that exists switched off until the customer switches it on; alone in a file below break_glass/.").noEffectYet(),
		kind[OperationRoles]("operation-roles", "", "operation_roles.toml").noEffectYet(),
		kind[KubernetesContexts]("kubernetes-contexts", "", "kubernetes_contexts.toml", "kubernetes_contexts/*.toml"),
		kind[KubernetesContext]("kubernetes-context", "", "kubernetes_contexts/*.toml"),
		kind[Policies]("policies", "", "policies.toml").noEffectYet(),
		kind[Policy]("policy", "", "policies/*.toml").noEffectYet(),
		kind[Component]("component", "", "components/*.toml").withAliases("component-root", "components"),
		kind[TerraformModule]("terraform", KindTerraformModule, "components/*.toml"),
		kind[HelmChart]("helm", KindHelmChart, "components/*.toml"),
		kind[ContainerImage]("container-image", KindContainerImage, "components/*.toml").withAliases("external-image", "image").noEffectYet(),
		kind[DockerBuild]("docker-build", KindDockerBuild, "components/*.toml").withAliases("docker").noEffectYet(),
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

// kind is the kind of file that T holds. A kind of component is also known by the value of its type.
func kind[T any](name, component string, paths ...string) Kind {
	t := reflect.TypeFor[T]()
	k := Kind{Name: name, Component: component, Paths: paths, Type: t, OpenEnded: t.Kind() == reflect.Map, Description: describe(t.Name())}
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

// describedAs describes a kind whose type has other uses.
func (k Kind) describedAs(text string) Kind {
	k.Description = text
	return k
}
