package app

import (
	"encoding/json"
	"path"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Effect is what a change of a component's config, or of the sandbox's, causes by itself.
type Effect struct {
	Rebuild  bool // its artifact is made from something else
	Moved    bool // its code is looked for elsewhere: it is built anew if what is found there is something else
	Redeploy bool // it is deployed with another config: appconfig's ConfigDigest differs
}

// EffectOf compares a component with what it becomes. Both are there.
func EffectOf(was, is *appconfig.Component) Effect {
	return Effect{Rebuild: recipeOf(was) != recipeOf(is), Moved: placeOf(was) != placeOf(is), Redeploy: was.ConfigDigest() != is.ConfigDigest()}
}

// ChangedKeys names what is said otherwise of a component, by the paths of its file, sorted. Both are there.
func ChangedKeys(was, is *appconfig.Component) []string {
	kind := kindComponent
	if is.Kind == appconfig.KindSandbox {
		kind = kindSandbox
	}
	var sides [2]map[string]any
	for i, c := range []*appconfig.Component{was, is} {
		doc, _ := document(c) // texts, numbers, flags, and tables and lists of them always encode
		sides[i] = asWritten(kind, doc)
	}
	return changedKeys(raw.Of(sides[0]), raw.Of(sides[1]))
}

// changedKeys goes one level into tables, so that vars.cidr is told from vars.
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
		differing(before, after, func(inner string, _, _ raw.Value) { keys = append(keys, key+"."+bare(inner)) })
	})
	return keys
}

// recipeOf is what a component's artifact is made from, as far as its config says: as the control plane's builds have it for the kinds that it
// builds. Where the code is found is no part of that, only the code; see Effect.Moved.
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
	text, _ := json.Marshal(made) // strings, flags, and tables and lists of them always encode
	return string(text)
}

// placeOf is where a component's code is found.
func placeOf(c *appconfig.Component) string {
	if c.Source == nil {
		return ""
	}
	return c.Source.Repo + "\x00" + c.Source.Branch
}

// engine is what keeps track of a component's resources; another one knows nothing of them.
func engine(c *appconfig.Component) string {
	if c.Kind == appconfig.KindSandbox && c.Pulumi != nil {
		return c.Kind + " pulumi"
	}
	return c.Kind
}
