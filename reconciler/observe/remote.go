package observe

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// remote is the source of a mirror: a server, or a repository on this machine.
type remote interface {
	// refs returns the branches and tags.
	refs(ctx context.Context) (tips, error)
	// fetch copies a commit (or a tag's commit) with its whole tree into the mirror, and depth
	// commits of its history. have, unless zero, is a commit whose whole tree the mirror
	// contains, so that the remote need not send shared objects.
	fetch(ctx context.Context, into *mirror, want, have plumbing.Hash, depth int) error
}

// credential is the credential for a remote; the zero value means none.
type credential struct {
	name     string
	username string
	password seal.Secret
	// repositories are the patterns of the repositories that the credential may be used for.
	repositories []string
}

// tip is where a ref points: object is what a server accepts in a request (an annotated tag's own
// object), commit the commit that it leads to.
type tip struct {
	name           string
	object, commit plumbing.Hash
}

// tips are the branches and tags of a remote by full name.
type tips map[string]tip

// find returns the tip that a watch's ref means: a full name, or a branch or a tag. It returns an error for the name of
// a branch and a tag that differ, because often others may create the one than the other.
func (t tips) find(url, ref string) (tip, error) {
	if found, there := t[ref]; there {
		return found, nil
	}
	named := PlainText(ref, 200)
	branch, isBranch := t["refs/heads/"+ref]
	tag, isTag := t["refs/tags/"+ref]
	switch {
	case strings.HasPrefix(ref, "refs/") || !isBranch && !isTag:
		return tip{}, repoErrorf("%s has no branch or tag %q; push it, or name another ref for the app", url, named)
	case isBranch && isTag && branch.commit != tag.commit:
		return tip{}, repoErrorf("%s has a branch and a tag %q with different commits; delete one of them, or name the ref "+
			"in full, as refs/tags/%s or refs/heads/%s", url, named, named, named)
	case isBranch:
		return branch, nil
	}
	return tag, nil
}

// isCommit reports whether a ref is a full commit hash, which never moves.
func isCommit(ref string) bool { return len(ref) == 40 && plumbing.IsHash(strings.ToLower(ref)) }
