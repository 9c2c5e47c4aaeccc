package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// candidate is the result of examining one component: a recipe, or why it has none.
type candidate struct {
	componentState
	app       *appconfig.App // the config of the component's app
	recipe    Recipe
	digest    string // of the recipe, without a resolution
	problem   string // why it cannot be built, for people; the component then stays as it was
	temporary bool   // the problem is temporary and not the component's own

	resolves  bool                       // it is an image, or a module that calls others outside of its repository
	variables []appconfig.ModuleVariable // of a sandbox: those that nuon may pass

	tree *gittree.Tree // nil for what is built from the config itself
	// skip selects what of the tree is not packed.
	skip   func(name string, entry fs.DirEntry) bool
	known  knownInput // what exists of this input
	packed bool       // a build would find everything that it needs
	source string     // digest of the packed source; empty for a chart from a chart repository
	// sourceBytes is the size of the packed source.
	sourceBytes int64
}

// inspectAll examines every component whose code can be read or is in the config itself. A component
// whose repository could not be read gets that as its problem. Components whose repository was not
// polled yet, or whose own config has errors at this revision, are left out. The error joins
// everything that prevented the reading of a tree.
func (b *Builder) inspectAll(ctx context.Context, org string, app appState) ([]*candidate, error) {
	var (
		findings []*candidate
		troubles error
		trees    = map[string]*gittree.Tree{}
	)
	for _, component := range app.components {
		switch {
		case component.revision == nil && component.watchError != "":
			findings = append(findings, &candidate{componentState: component, problem: component.watchError, temporary: true})
			continue
		case component.revision == nil && !component.inline, component.ownRepository && app.configBroken:
			continue
		}
		found := &candidate{componentState: component, app: &app.config}
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
			troubles = errors.Join(troubles, fmt.Errorf("%s: %w", component.config.Title(), err))
			continue
		}
		findings = append(findings, found)
	}
	return findings, troubles
}

// tree reads each revision once.
func (b *Builder) tree(
	ctx context.Context, org, revisionID string, trees map[string]*gittree.Tree,
) (*gittree.Tree, error) {
	if tree, there := trees[revisionID]; there {
		return tree, nil
	}
	tree, err := b.trees.Tree(ctx, org, revisionID)
	if err == nil {
		trees[revisionID] = tree
	}
	return tree, err
}

// problemDigest identifies a problem, so that the same one is not reported with every commit.
func (f *candidate) problemDigest() string {
	directory := ""
	if f.config.Source != nil {
		directory = f.config.Source.Directory
	}
	return digestOf([]string{recipeFormat, f.config.Kind, directory, f.problem})
}

// knownInput is what exists of an input.
type knownInput struct {
	input *store.ComponentInput
	build *store.Build // the running or succeeded one, else the newest failed one
}

// compare looks up what exists of every input that was determined.
func (b *Builder) compare(ctx context.Context, org string, findings []*candidate) error {
	return b.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		for _, found := range findings {
			if found.problem != "" {
				continue
			}
			var err error
			if found.known, err = findKnown(ctx, tx, found.row.ID, found.digest); err != nil {
				return fmt.Errorf("%s: %w", found.config.Title(), err)
			}
		}
		return nil
	})
}

func findKnown(ctx context.Context, tx *store.Tx, componentID, digest string) (knownInput, error) {
	input, err := tx.ComponentInputByDigest(ctx, tx.Org, componentID, digest)
	if errors.Is(err, store.ErrNotFound) {
		return knownInput{}, nil
	}
	if err != nil {
		return knownInput{}, err
	}
	build, err := tx.BuildOfInput(ctx, tx.Org, input.ID)
	if errors.Is(err, store.ErrNotFound) {
		return knownInput{input: &input}, nil
	}
	return knownInput{input: &input, build: &build}, err
}

// packAll packs and stores the source of every input to build. A source that the registry refuses
// gets that as its problem, and is retried: packAll returns the error.
func (b *Builder) packAll(ctx context.Context, org string, findings []*candidate) error {
	var troubles error
	for _, found := range findings {
		if found.problem != "" || found.known.build != nil && !found.lacksSource() {
			continue
		}
		if found.recipe.fetched() != "" {
			found.packed = true
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
		if err := b.forgetDeletion(ctx, org, found.row.ID, packed.Digest()); err != nil {
			return errors.Join(troubles, err)
		}
		if found.source, err = b.sources.Push(ctx, SourceRepository(org, found.row.ID), packed); err == nil {
			found.packed, found.sourceBytes = true, int64(len(packed.Layer))
			continue
		}
		if errors.Is(err, artifact.ErrTooLarge) {
			found.problem = err.Error()
			continue
		}
		found.problem, found.temporary = "the packed source could not be stored: "+err.Error(), true
		troubles = errors.Join(troubles, fmt.Errorf("%s: %w", found.config.Title(), err))
	}
	return troubles
}

// lacksSource reports whether the input has a build whose packed source was deleted. Another build of the same code,
// such as one with a newer resolution of its modules, needs it.
func (f *candidate) lacksSource() bool {
	return f.known.build != nil && f.known.build.Status == statusSucceeded && f.known.build.SourceDigest == "" &&
		f.recipe.fetched() == ""
}

// forgetDeletion removes the record of a source that was deleted, or is to be deleted, before it is pushed. A deletion
// that begins after that leaves another record, which saveComponent finds.
func (b *Builder) forgetDeletion(ctx context.Context, org, component, digest string) error {
	return b.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		return tx.DropGarbage(ctx, tx.Org, SourceRepository(org, component), digest)
	})
}

func (f *candidate) treeErr() error {
	if f.tree == nil {
		return nil
	}
	return f.tree.Err()
}

// SourceRepository returns the repository of a component's packed sources, relative to the prefix
// in the vendor's registry.
func SourceRepository(org, component string) string { return org + "/sources/" + component }

// ArtifactRepository returns the repository of a component's artifacts, relative to the prefix in
// the vendor's registry.
func ArtifactRepository(org, component string) string { return org + "/builds/" + component }
