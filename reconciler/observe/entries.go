package observe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// readTree reads one directory. Its names are refused, in words, when no file system or archive should be given them.
func readTree(from storer.EncodedObjectStorer, hash plumbing.Hash) ([]object.TreeEntry, error) {
	found, err := object.GetTree(from, hash)
	if err != nil {
		return nil, fmt.Errorf("%w: read tree %s: %w", errDamaged, hash, err)
	}
	for _, entry := range found.Entries {
		if err := plainName(entry.Name); err != nil {
			return nil, troubled("the repository holds an entry named %q, which %v; rename it", plainText(entry.Name, 100), err)
		}
	}
	return found.Entries, nil
}

// plainName refuses names that mean something else to a path.
func plainName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return errors.New("is no name")
	case strings.ContainsAny(name, "/\\\x00"):
		return errors.New("holds a separator")
	case strings.EqualFold(name, ".git"):
		return errors.New("is git's own")
	case strings.ToValidUTF8(name, "") != name:
		return errors.New("is not UTF-8")
	}
	return nil
}

func isDir(entry object.TreeEntry) bool       { return entry.Mode == filemode.Dir }
func isLink(entry object.TreeEntry) bool      { return entry.Mode == filemode.Symlink }
func isSubmodule(entry object.TreeEntry) bool { return entry.Mode == filemode.Submodule }
