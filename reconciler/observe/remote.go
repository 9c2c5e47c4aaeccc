package observe

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// remote is the other side of a mirror: a server, or a repository on this machine.
type remote interface {
	// refs lists where the branches and tags are.
	refs(ctx context.Context) (tips, error)
	// fetch brings a commit (or a tag's commit) with its whole tree into the mirror, and as much of its history as depth commits
	// are. have, unless zero, is a commit whose tree the mirror holds whole, so that what it shares need not be sent.
	fetch(ctx context.Context, into *mirror, want, have plumbing.Hash, depth int) error
}

// login is the credential for a remote; its zero value is none.
type login struct {
	name     string
	username string
	password seal.Secret
	// repositories are the patterns of what the credential may be used for.
	repositories []string
}

// tip is where a ref points: object is what a server can be asked for (an annotated tag's own object), commit what it leads to.
type tip struct {
	name           string
	object, commit plumbing.Hash
}

// tips are the branches and tags of a remote by their full names.
type tips map[string]tip

// find gives the tip that a watch's ref means: a full name, a branch, then a tag.
func (t tips) find(ref string) (tip, bool) {
	for _, name := range []string{ref, "refs/heads/" + ref, "refs/tags/" + ref} {
		if found, there := t[name]; there && strings.HasPrefix(name, "refs/") {
			return found, true
		}
	}
	return tip{}, false
}

// isCommit tells whether a ref is a full commit hash, which never moves.
func isCommit(ref string) bool { return len(ref) == 40 && plumbing.IsHash(strings.ToLower(ref)) }
