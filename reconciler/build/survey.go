package build

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// finding is what was found out about one component: a recipe, or why there is none.
type finding struct {
	componentState
	app     *appconfig.App // the config that the component is of
	recipe  Recipe
	digest  string // of the recipe
	problem string // why it cannot be built, in words; the component then stays as it was
	passing bool   // the problem is not the component's own, and goes away by itself

	tree   *gittree.Tree // nil for what is built from the config itself
	known  known         // what there is of this input already
	packed bool          // a build would find all that it needs
	source string        // digest of the packed source; empty for a chart from a chart repository
}

// survey reads the code of every component whose code is there to be read, or is in the config itself. One whose repository could not be read at all is found
// with the reason as its problem. Components that wait for the first look at their repository, or whose own config is broken at
// this revision, are left out. Its error is joined of what kept a tree from being read.
func (b *Builder) survey(ctx context.Context, org string, app appState) ([]*finding, error) {
	var (
		findings []*finding
		troubles error
		trees    = map[string]*gittree.Tree{}
	)
	for _, component := range app.components {
		switch {
		case component.revision == nil && component.trouble != "":
			findings = append(findings, &finding{componentState: component, problem: component.trouble, passing: true})
			continue
		case component.revision == nil && !component.inline, component.own && app.broken:
			continue
		}
		found := &finding{componentState: component, app: &app.config}
		if component.inline {
			found.inspect()
			findings = append(findings, found)
			continue
		}
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
func (b *Builder) tree(ctx context.Context, org, revisionID string, trees map[string]*gittree.Tree) (*gittree.Tree, error) {
	if tree, there := trees[revisionID]; there {
		return tree, nil
	}
	tree, err := b.trees.Tree(ctx, org, revisionID)
	if err == nil {
		trees[revisionID] = tree
	}
	return tree, err
}

// problemDigest tells one problem from another, so that the same one is not reported with every commit.
func (f *finding) problemDigest() string {
	directory := ""
	if f.config.Source != nil {
		directory = f.config.Source.Directory
	}
	return digestOf([]string{recipeFormat, f.config.Kind, directory, f.problem})
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
		if found.recipe.Chart != nil {
			found.packed = true // a build fetches it
			continue
		}
		packed, err := found.pack()
		if broken := found.treeErr(); broken != nil {
			return errors.Join(troubles, broken)
		}
		if err != nil {
			found.problem = err.Error()
			continue
		}
		if found.source, err = b.sources.Push(ctx, sourceRepository(org, found.row.ID), packed); err == nil {
			found.packed = true
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

func (f *finding) treeErr() error {
	if f.tree == nil {
		return nil
	}
	return f.tree.Err()
}

// sourceRepository is where the packed sources of a component are, below the vendor registry's prefix.
func sourceRepository(org, component string) string { return org + "/sources/" + component }

// ArtifactRepository is where the artifacts of a component are, below the vendor registry's prefix.
func ArtifactRepository(org, component string) string { return org + "/builds/" + component }
