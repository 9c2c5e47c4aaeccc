package observe

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/nuon-toolkit/nuon/pkg/gittree"
)

// readTree reads one directory. If a name is unsafe for file systems or archives, the error is a
// *RepoError; any other error is damage of the mirror.
func readTree(from storer.EncodedObjectStorer, hash plumbing.Hash) ([]object.TreeEntry, error) {
	entries, err := gittree.Entries(from, hash)
	return entries, mirrorError(err)
}

// mirrorError distinguishes an invalid repository from a damaged mirror.
func mirrorError(err error) error {
	var name *gittree.NameError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &name):
		return repoErrorf("%s", PlainText(name.Error(), 300))
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

func isDir(entry object.TreeEntry) bool       { return entry.Mode == filemode.Dir }
func isSubmodule(entry object.TreeEntry) bool { return entry.Mode == filemode.Submodule }
