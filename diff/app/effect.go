package app

import (
	"encoding/json"
	"path"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Effect is the direct consequence of a change in the config of a component or of the sandbox.
type Effect struct {
	Rebuild  bool // its artifact is built from something else
	Moved    bool // its code has another location: it is built again if the code there differs
	Redeploy bool // it is deployed with another config: appconfig's ConfigDigest differs
}

// EffectOf compares the old and the new config of a component. Neither may be nil.
func EffectOf(was, is *appconfig.Component) Effect {
	return Effect{Rebuild: recipeOf(was) != recipeOf(is), Moved: placeOf(was) != placeOf(is),
		Redeploy: was.ConfigDigest() != is.ConfigDigest()}
}

// ChangedKeys returns the sorted paths, as in the component's file, of the settings that differ.
// Neither argument may be nil.
func ChangedKeys(was, is *appconfig.Component) []string {
	kind := kindComponent
	if is.Kind == appconfig.KindSandbox {
		kind = kindSandbox
	}
	var sides [2]map[string]any
	for i, c := range []*appconfig.Component{was, is} {
		doc, _ := document(c) // strings, numbers, booleans, and tables and lists of them always encode
		sides[i] = asWritten(kind, doc)
	}
	return changedKeys(raw.Of(sides[0]), raw.Of(sides[1]))
}

// changedKeys descends one level into tables, to distinguish vars.cidr from vars.
func changedKeys(was, is raw.Value) []string {
	var keys []string
	differing := func(a, b raw.Value, visit func(key string, before, after raw.Value)) {
		for _, key := range tree.Union(a.Keys(), b.Keys()) {
			before, had := a.Get(key)
			after, has := b.Get(key)
			if had != has || !before.Equal(after) {
				visit(key, before, after)
			}
		}
	}
	differing(was, is, func(key string, before, after raw.Value) {
		if !before.IsObject() && !after.IsObject() {
			keys = append(keys, key)
			return
		}
		differing(before, after, func(inner string, _, _ raw.Value) { keys = append(keys, key+"."+tomlKey(inner)) })
	})
	return keys
}

// recipeOf returns what a component's artifact is built from, as far as its config defines it. For
// kinds that the control plane builds, this matches its builds. The repository and branch are not
// included, because only the code counts; see Effect.Moved.
func recipeOf(c *appconfig.Component) string {
	made := struct {
		Engine, Version, Directory string
		Chart, Image, Docker       any
		Arguments                  map[string]string
		Kustomize                  any
		Text                       string
	}{Engine: engine(c)}
	if c.Source != nil {
		if made.Directory = c.Source.Directory; made.Directory == "" {
			made.Directory = "."
		}
	}
	switch {
	case c.Terraform != nil:
		made.Version = c.Terraform.Version
	case c.Helm != nil:
		made.Chart = c.Helm.Repository
	case c.Image != nil:
		made.Image = c.Image
	case c.Docker != nil:
		made.Docker, made.Arguments = c.Docker, c.EnvVars
	case c.Manifest != nil:
		made.Text = c.Manifest.Text
		if k := c.Manifest.Kustomize; k != nil {
			paths := []string{}
			for _, patch := range k.Patches {
				paths = append(paths, path.Join(made.Directory, patch))
			}
			made.Directory = path.Join(made.Directory, k.Path)
			made.Kustomize = []any{paths, k.EnableHelm, k.LoadRestrictor}
		}
	case c.Pulumi != nil:
		made.Version = c.Pulumi.Version + " " + c.Pulumi.Runtime
	}
	text, _ := json.Marshal(made) // strings, booleans, and tables and lists of them always encode
	return string(text)
}

// placeOf returns the location of a component's code.
func placeOf(c *appconfig.Component) string {
	if c.Source == nil {
		return ""
	}
	return c.Source.Repo + "\x00" + c.Source.Branch
}

// engine returns the tool that tracks a component's resources; any other tool does not know them.
func engine(c *appconfig.Component) string {
	if c.Kind == appconfig.KindSandbox && c.Pulumi != nil {
		return c.Kind + " pulumi"
	}
	return c.Kind
}
