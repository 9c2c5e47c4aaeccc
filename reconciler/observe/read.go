package observe

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ErrMirror is wrapped if a file cannot be read because the mirror was lost or damaged meanwhile.
// It reveals nothing about the repository; the caller should try again later.
var ErrMirror = errors.New("the mirror was lost while it was read; the next poll creates it again")

// lost returns the function that converts an error of a mirror's reader. It marks the mirror as
// damaged for the next caller that opens it.
func (m *mirror) lost() func(error) error {
	mark := damagedMarker(m.dir)
	return func(err error) error {
		// If the mark cannot be written either, the next caller finds the damage without it.
		_ = os.WriteFile(mark, nil, 0o600)
		return fmt.Errorf("%w: %w", ErrMirror, err)
	}
}

// Tree returns the files of a revision, from the mirror or, if that was lost, fetched again. A
// *RepoError means that the repository no longer has the commit.
func (o *Observer) Tree(ctx context.Context, org, revisionID string) (*gittree.Tree, error) {
	var (
		revision store.Revision
		watch    store.Watch
		with     credential
	)
	err := o.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) (err error) {
		if revision, err = tx.WatchRevision(ctx, org, revisionID); err != nil {
			return err
		}
		if watch, err = tx.WatchByID(ctx, org, revision.WatchID); err != nil {
			return err
		}
		with, err = o.credentialOf(ctx, tx, watch)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read revision %s: %w", revisionID, err)
	}
	var read *gittree.Tree
	err = o.mirrors.withMirror(ctx, org, watch.URL, func(m *mirror) error {
		if m.checkTree(plumbing.NewHash(revision.Tree)) != nil {
			// Only now: what the mirror contains can be read while the remote is unreachable.
			from, err := o.remoteOf(watch.URL, with)
			if err != nil {
				return err
			}
			if err := retrieve(ctx, m, from, watch, revision); err != nil {
				return err
			}
		}
		read = gittree.New(m.store, plumbing.NewHash(revision.Tree), m.lost())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", shortCommit(revision.Commit), incomplete(watch.URL, err))
	}
	return read, nil
}

// retrieve fetches the commit of a revision again: by its hash, or, from servers that only send
// what a ref points at, with the history of the watched ref.
func retrieve(ctx context.Context, m *mirror, from remote, watch store.Watch, revision store.Revision) error {
	commit, tree := plumbing.NewHash(revision.Commit), plumbing.NewHash(revision.Tree)
	refused := from.fetch(ctx, m, commit, plumbing.ZeroHash, 1)
	if refused == nil || !isCommitNotServed(refused) {
		if refused != nil {
			return refused
		}
		return m.checkTree(tree)
	}
	tip, err := findTip(ctx, from, watch)
	if err != nil {
		return err
	}
	for _, depth := range fetchDepths {
		if err := from.fetch(ctx, m, tip.object, plumbing.ZeroHash, depth); err != nil {
			return err
		}
		if m.checkTree(tree) == nil {
			return nil
		}
	}
	return refused
}
