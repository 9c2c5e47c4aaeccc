package observe

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// fetchDepths are how much history is fetched, in successive attempts, until it shows whether a ref was
// force-pushed: most pushes have few commits, and beyond a thousand the question remains open.
var fetchDepths = []int{8, 64, 1024}

// observation is an observation: what a poll found at a ref that has moved.
type observation struct {
	commit   *object.Commit
	ancestry ancestry
	// changed are the paths that differ from the previous revision; nil if that is not known, and
	// unknownReason then has the reason.
	changed       []string
	unknownReason string
}

// readTip reads from the remote where the ref is, and reads the commit if it has moved; it returns
// nil if not.
func (o *Observer) readTip(ctx context.Context, org string, at watchState) (*observation, error) {
	if at.previous != nil && isCommit(at.watch.Ref) {
		return nil, nil // a commit does not move
	}
	from, err := o.remoteOf(at.watch.URL, at.credential)
	if err != nil {
		return nil, err
	}
	tip, err := findTip(ctx, from, at.watch)
	if err != nil {
		return nil, err
	}
	if at.previous != nil && at.previous.Commit == tip.commit.String() {
		return nil, nil
	}
	var seen observation
	err = o.mirrors.withMirror(ctx, org, at.watch.URL, func(m *mirror) error {
		seen, err = observeTip(ctx, m, from, tip, at.previous)
		return err
	})
	if err != nil {
		return nil, incomplete(at.watch.URL, err)
	}
	return &seen, nil
}

// findTip returns where a watch's ref is now.
func findTip(ctx context.Context, from remote, watch store.Watch) (tip, error) {
	if isCommit(watch.Ref) {
		commit := plumbing.NewHash(watch.Ref)
		return tip{name: watch.Ref, object: commit, commit: commit}, nil
	}
	listed, err := from.refs(ctx)
	if err != nil {
		return tip{}, err
	}
	return listed.find(watch.URL, watch.Ref)
}

// incomplete converts damage that even a new mirror has into a RepoError of the remote.
func incomplete(url string, err error) error {
	if errors.Is(err, errDamaged) {
		return &RepoError{Message: fmt.Sprintf("%s sends a history in which objects are missing (%s); run `git fsck` there",
			url, PlainText(err.Error(), 300)), Err: err}
	}
	return err
}

// observeTip reads the commit at a tip into the mirror and compares it with the previous revision.
func observeTip(ctx context.Context, m *mirror, from remote, tip tip, previous *store.Revision) (observation, error) {
	var before, have plumbing.Hash
	depth := 1
	if previous != nil {
		before, depth = plumbing.NewHash(previous.Commit), fetchDepths[0]
		if m.checkTree(plumbing.NewHash(previous.Tree)) == nil && m.has(before) {
			have = before
		}
	}
	if err := from.fetch(ctx, m, tip.object, have, depth); err != nil {
		return observation{}, err
	}
	commit, err := m.commit(tip.object)
	if err != nil {
		return observation{}, err
	}
	seen := observation{commit: commit, ancestry: ancestryDescends, changed: []string{}}
	if err := m.checkTree(commit.TreeHash); err != nil || previous == nil {
		return seen, err
	}
	if err := refetchPrevious(ctx, m, from, previous); err != nil {
		return observation{}, err
	}
	if seen.ancestry, err = compareHistory(ctx, m, from, tip, before, have); err != nil {
		return observation{}, err
	}
	seen.changed, seen.unknownReason, err = compareTrees(m, previous, commit)
	return seen, err
}

// refetchPrevious fetches the previous revision into a mirror that was lost, if the remote still has it.
func refetchPrevious(ctx context.Context, m *mirror, from remote, previous *store.Revision) error {
	if m.checkTree(plumbing.NewHash(previous.Tree)) == nil {
		return nil
	}
	err := from.fetch(ctx, m, plumbing.NewHash(previous.Commit), plumbing.ZeroHash, 1)
	if err != nil && isCommitNotServed(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.checkTree(plumbing.NewHash(previous.Tree))
}

// compareHistory returns whether the ref moved forward or was rewritten, with as little history as
// possible.
func compareHistory(ctx context.Context, m *mirror, from remote, tip tip, before,
	have plumbing.Hash) (ancestry, error) {
	for i, depth := range fetchDepths {
		if i > 0 {
			if err := from.fetch(ctx, m, tip.object, have, depth); err != nil {
				return ancestryUnknown, err
			}
		}
		if related := ancestryOf(before, tip.commit, m.parents, 4*depth); related != ancestryUnknown {
			return related, nil
		}
	}
	return ancestryUnknown, nil
}

// maxChanged bounds the changed paths that are stored with a revision.
const maxChanged = 10_000

// compareTrees returns the paths that changed since the previous revision, or why they are not known.
func compareTrees(m *mirror, previous *store.Revision, now *object.Commit) ([]string, string, error) {
	if m.checkTree(plumbing.NewHash(previous.Tree)) != nil {
		reason := fmt.Sprintf("what changed is not known, because the repository no longer serves commit %s",
			shortCommit(previous.Commit))
		return nil, reason, nil //nolint:nilerr // the text describes the error
	}
	before, after := gittree.New(m.store, plumbing.NewHash(previous.Tree), nil), gittree.New(m.store, now.TreeHash, nil)
	changes, err := gittree.Changes(before, after, maxChanged)
	switch {
	case errors.Is(err, gittree.ErrTooManyChanges):
		return nil, fmt.Sprintf("more than %d files changed; they are not listed", maxChanged), nil
	case errors.Is(err, gittree.ErrTooManyEntries), errors.Is(err, gittree.ErrLongPath):
		return nil, fmt.Sprintf("the changed files are not listed, because %s", err), nil
	}
	changed := make([]string, 0, len(changes))
	for _, c := range changes {
		changed = append(changed, c.Path)
	}
	return changed, "", mirrorError(err)
}
