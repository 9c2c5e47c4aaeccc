package build_test

import (
	"context"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// deleting records that the deletion of a source began.
func (b *bench) deleting(repository, digest string, component store.Component) {
	b.in(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddGarbage(ctx, store.AddGarbageParams{OrgID: b.org, Repository: repository, Digest: digest,
			Kind: "source", AppID: b.app, App: "hello", ComponentID: component.ID, Component: component.Name, Build: 1,
		}); err != nil {
			return err
		}
		_, err := tx.BeginDeletion(ctx, b.org, repository, digest)
		return err
	})
}

// TestADeletedSourceIsPackedAgain deletes the source of a build whose input is not current, and returns to that input.
func TestADeletedSourceIsPackedAgain(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	first, component := b.builds("web")[0], b.component("web")
	files := b.sourceOf(first)
	repo.Write("modules/web/main.tf", "output \"name\" { value = \"second\" }\n")
	b.push("second")
	b.succeed("web")

	repository := build.SourceRepository(b.org, component.ID)
	b.deleting(repository, first.SourceDigest, component)
	b.in(func(ctx context.Context, tx *store.Tx) error {
		return tx.ClearBuildSources(ctx, b.org, []string{first.ID})
	})
	repo.Write("modules/web/main.tf", files["modules/web/main.tf"])
	b.push("first again")
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 2, "metrics": 1})
	again := b.builds("web")[0]
	if again.SourceDigest != first.SourceDigest || again.SourceBytes != first.SourceBytes || first.SourceBytes == 0 {
		t.Errorf("its source is %q (%d bytes), and was %q", again.SourceDigest, again.SourceBytes, first.SourceDigest)
	}
	if current := b.component("web").InputID; *current != first.InputID {
		t.Errorf("the current input is %s", *current)
	}
}

// TestADeletedArtifactIsBuiltAgain deletes a build whose input is not current, and returns to that input.
func TestADeletedArtifactIsBuiltAgain(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	first := b.builds("web")[0]
	files := b.sourceOf(first)
	repo.Write("modules/web/main.tf", "output \"name\" { value = \"second\" }\n")
	b.push("second")
	b.succeed("web")

	b.in(func(ctx context.Context, tx *store.Tx) error { return tx.DropBuilds(ctx, b.org, []string{first.ID}) })
	repo.Write("modules/web/main.tf", files["modules/web/main.tf"])
	b.push("first again")
	builds := b.builds("web")
	if again := builds[len(builds)-1]; again.InputID != first.InputID || again.Number != 3 || again.Status != "queued" ||
		again.SourceDigest != first.SourceDigest {
		t.Errorf("the build is %+v", again)
	}
}

// TestASourceIsDeletedDuringABuild begins the deletion of a source after it was pushed and before its build is created.
func TestASourceIsDeletedDuringABuild(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	component := b.component("web")
	var once sync.Once
	hook := func(repository, digest string) {
		if repository == build.SourceRepository(b.org, component.ID) {
			once.Do(func() { b.deleting(repository, digest, component) })
		}
	}
	b.onPush.Store(&hook)
	repo.Write("modules/web/main.tf", "output \"name\" { value = \"second\" }\n")
	b.push("second")
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1})
	b.sync() // as the queue does: it has the build of the app to do
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 2, "metrics": 1})
	b.in(func(ctx context.Context, tx *store.Tx) error {
		deleted, err := tx.MayBeDeleted(ctx, b.org, build.SourceRepository(b.org, component.ID),
			b.builds("web")[1].SourceDigest)
		if deleted {
			t.Error("its record is still there")
		}
		return err
	})
}
