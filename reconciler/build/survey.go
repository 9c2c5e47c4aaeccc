package build

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// finding is what was found out about one component: a recipe, or why there is none.
type finding struct {
	componentState
	recipe  Recipe
	digest  string // of the recipe
	problem string // why it cannot be built, in words; the component then stays as it was
	passing bool   // the problem is not the component's own, and goes away by itself

	tree   *observe.Tree
	known  known  // what there is of this input already
	source string // digest of the packed source, when it was packed
}

// survey reads the code of every component whose code is there to be read. One whose repository could not be read at all is found
// with the reason as its problem. Components that wait for the first look at their repository, or whose own config is broken at
// this revision, are left out. Its error is joined of what kept a tree from being read.
func (b *Builder) survey(ctx context.Context, org string, app appState) ([]*finding, error) {
	var (
		findings []*finding
		troubles error
		trees    = map[string]*observe.Tree{}
	)
	for _, component := range app.components {
		switch {
		case component.revision == nil && component.trouble != "":
			findings = append(findings, &finding{componentState: component, problem: component.trouble, passing: true})
			continue
		case component.revision == nil, component.own && app.broken:
			continue
		}
		found := &finding{componentState: component}
		tree, err := b.tree(ctx, org, component.revision.ID, trees)
		if err == nil {
			found.tree = tree
			found.inspect()
			err = tree.Err()
		}
		if err != nil {
			troubles = errors.Join(troubles, fmt.Errorf("component %s: %w", component.row.Name, err))
			continue
		}
		findings = append(findings, found)
	}
	return findings, troubles
}

// tree reads each revision once.
func (b *Builder) tree(ctx context.Context, org, revisionID string, trees map[string]*observe.Tree) (*observe.Tree, error) {
	if tree, there := trees[revisionID]; there {
		return tree, nil
	}
	tree, err := b.trees.Tree(ctx, org, revisionID)
	if err == nil {
		trees[revisionID] = tree
	}
	return tree, err
}

// inspect works the recipe out, or the problem.
func (f *finding) inspect() {
	directory := f.config.Source.Directory
	if directory == "" {
		directory = "."
	}
	if _, there := f.tree.Hash(directory); !there {
		f.problem = fmt.Sprintf("there is no directory %s in %s; commit the module there, or correct the directory in the component's config", directory, f.url)
		return
	}
	dirs, remote, err := tfmodule.Closure(f.tree, directory)
	switch {
	case err != nil:
		f.problem = err.Error()
		return
	case len(remote) > 0:
		first := remote[0]
		f.problem = fmt.Sprintf("%s: module %q is fetched from %q, which a deploy must not do; copy it into the repository and call it by a path such as ../%s",
			first.Position, first.Module, first.Source, first.Module)
		return
	}
	f.recipe = Recipe{
		Format: recipeFormat, Kind: f.config.Kind, TerraformVersion: f.config.Terraform.Version, Directory: directory,
	}
	for _, dir := range dirs {
		hash, there := f.tree.Hash(dir)
		if !there {
			f.problem = fmt.Sprintf("there is no directory %s in %s; commit it", dir, f.url)
			return
		}
		f.recipe.Sources = append(f.recipe.Sources, Source{Directory: dir, Tree: hash})
	}
	f.digest = f.recipe.Digest()
}

// problemDigest tells one problem from another, so that the same one is not reported with every commit.
func (f *finding) problemDigest() string {
	return digestOf([]string{recipeFormat, f.config.Kind, f.config.Source.Directory, f.problem})
}

// known is what there is of an input.
type known struct {
	input *store.ComponentInput
	build *store.Build // the one that counts: under way or succeeded, else the newest that failed
}

// compare looks up what there is of every input that was found.
func (b *Builder) compare(ctx context.Context, org string, findings []*finding) error {
	return b.store.Read(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		for _, found := range findings {
			if found.problem != "" {
				continue
			}
			var err error
			if found.known, err = lookUp(ctx, tx, found.row.ID, found.digest); err != nil {
				return fmt.Errorf("component %s: %w", found.row.Name, err)
			}
		}
		return nil
	})
}

func lookUp(ctx context.Context, tx *store.Tx, componentID, digest string) (known, error) {
	input, err := tx.ComponentInputByDigest(ctx, tx.Org, componentID, digest)
	if errors.Is(err, store.ErrNotFound) {
		return known{}, nil
	}
	if err != nil {
		return known{}, err
	}
	build, err := tx.BuildOfInput(ctx, tx.Org, input.ID)
	if errors.Is(err, store.ErrNotFound) {
		return known{input: &input}, nil
	}
	return known{input: &input, build: &build}, err
}

// packAll packs and stores the source of every input that is to be built. What the registry refuses stays unbuilt, in words, and
// is tried again: its error is returned.
func (b *Builder) packAll(ctx context.Context, org string, findings []*finding) error {
	var troubles error
	for _, found := range findings {
		if found.problem != "" || found.known.build != nil {
			continue
		}
		packed, err := pack(found.tree, found.recipe)
		if broken := found.tree.Err(); broken != nil {
			return errors.Join(troubles, broken)
		}
		if err != nil {
			found.problem = err.Error()
			continue
		}
		if found.source, err = b.sources.Push(ctx, sourceRepository(org, found.row.ID), packed); err == nil {
			continue
		}
		if errors.Is(err, artifact.ErrTooLarge) {
			found.problem = err.Error()
			continue
		}
		found.problem, found.passing = "the packed source could not be stored: "+err.Error(), true
		troubles = errors.Join(troubles, fmt.Errorf("component %s: %w", found.row.Name, err))
	}
	return troubles
}

// sourceRepository is where the packed sources of a component are, below the vendor registry's prefix.
func sourceRepository(org, component string) string { return org + "/sources/" + component }

// ArtifactRepository is where the artifacts of a component are, below the vendor registry's prefix.
func ArtifactRepository(org, component string) string { return org + "/builds/" + component }
