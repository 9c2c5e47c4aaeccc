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

// depths are how much history is fetched, in successive attempts, until it shows whether a ref was
// force-pushed: most pushes have few commits, and beyond a thousand the question remains open.
var depths = []int{8, 64, 1024}

// sighting is an observation: what a poll found at a ref that has moved.
type sighting struct {
	commit *object.Commit
	kin    kinship
	// changed are the paths that differ from the previous revision; nil if that is not known, and
	// unknownWhy then has the reason.
	changed    []string
	unknownWhy string
}

// look reads from the remote where the ref is, and reads the commit if it has moved; it returns
// nil if not.
func (o *Observer) look(ctx context.Context, org string, at position) (*sighting, error) {
	if at.previous != nil && isCommit(at.watch.Ref) {
		return nil, nil // a commit does not move
	}
	from, err := o.remoteOf(at.watch.URL, at.login)
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
	var seen sighting
	err = o.mirrors.with(ctx, org, at.watch.URL, func(m *mirror) error {
		seen, err = sight(ctx, m, from, tip, at.previous)
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
	found, there := listed.find(watch.Ref)
	if !there {
		return tip{}, troubled("%s has no branch or tag %q; push it, or name another ref for the app", watch.URL,
			plainText(watch.Ref, 200))
	}
	return found, nil
}

// incomplete converts damage that even a new mirror has into a Trouble of the remote.
func incomplete(url string, err error) error {
	if errors.Is(err, errDamaged) {
		return &Trouble{Words: fmt.Sprintf("%s sends a history in which objects are missing (%s); run `git fsck` there",
			url, plainText(err.Error(), 300)), Err: err}
	}
	return err
}

// sight reads the commit at a tip into the mirror and compares it with the previous revision.
func sight(ctx context.Context, m *mirror, from remote, tip tip, previous *store.Revision) (sighting, error) {
	var before, have plumbing.Hash
	depth := 1
	if previous != nil {
		before, depth = plumbing.NewHash(previous.Commit), depths[0]
		if m.whole(plumbing.NewHash(previous.Tree)) == nil && m.has(before) {
			have = before
		}
	}
	if err := from.fetch(ctx, m, tip.object, have, depth); err != nil {
		return sighting{}, err
	}
	commit, err := m.commit(tip.object)
	if err != nil {
		return sighting{}, err
	}
	seen := sighting{commit: commit, kin: descends, changed: []string{}}
	if err := m.whole(commit.TreeHash); err != nil || previous == nil {
		return seen, err
	}
	if err := recall(ctx, m, from, previous); err != nil {
		return sighting{}, err
	}
	if seen.kin, err = relate(ctx, m, from, tip, before, have); err != nil {
		return sighting{}, err
	}
	seen.changed, seen.unknownWhy, err = compare(m, previous, commit)
	return seen, err
}

// recall fetches the previous revision into a mirror that was lost, if the remote still has it.
func recall(ctx context.Context, m *mirror, from remote, previous *store.Revision) error {
	if m.whole(plumbing.NewHash(previous.Tree)) == nil {
		return nil
	}
	err := from.fetch(ctx, m, plumbing.NewHash(previous.Commit), plumbing.ZeroHash, 1)
	if err != nil && refusedCommit(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.whole(plumbing.NewHash(previous.Tree))
}

// relate returns whether the ref moved forward or was rewritten, with as little history as
// possible.
func relate(ctx context.Context, m *mirror, from remote, tip tip, before, have plumbing.Hash) (kinship, error) {
	for i, depth := range depths {
		if i > 0 {
			if err := from.fetch(ctx, m, tip.object, have, depth); err != nil {
				return unknown, err
			}
		}
		if related := kin(before, tip.commit, m.parents, 4*depth); related != unknown {
			return related, nil
		}
	}
	return unknown, nil
}

// maxChanged bounds the changed paths that are stored with a revision.
const maxChanged = 10_000

// compare returns the paths that changed since the previous revision, or why they are not known.
func compare(m *mirror, previous *store.Revision, now *object.Commit) ([]string, string, error) {
	if m.whole(plumbing.NewHash(previous.Tree)) != nil {
		return nil, fmt.Sprintf("what changed is not known, because commit %s is no longer given by the repository", short(previous.Commit)), nil //nolint:nilerr // the text describes the error
	}
	before, after := gittree.New(m.store, plumbing.NewHash(previous.Tree), nil), gittree.New(m.store, now.TreeHash, nil)
	changes, err := gittree.Changes(before, after, maxChanged)
	if errors.Is(err, gittree.ErrManyChanged) {
		return nil, fmt.Sprintf("more than %d files changed; they are not listed", maxChanged), nil
	}
	changed := make([]string, 0, len(changes))
	for _, c := range changes {
		changed = append(changed, c.Path)
	}
	return changed, "", mirrorError(err)
}
