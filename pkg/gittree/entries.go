package gittree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// NameError reports an entry whose name is unsafe for file systems and archives, or is not unique in its
// directory.
type NameError struct {
	Name    string
	Problem string // what is wrong with the name, to follow "which"
}

func (e *NameError) Error() string {
	return fmt.Sprintf("the repository holds an entry named %.100q, which %s; rename it",
		strings.ToValidUTF8(e.Name, "\uFFFD"), e.Problem)
}

// Entries reads one directory. For an unsafe name the error is a *NameError.
func Entries(from storer.EncodedObjectStorer, hash plumbing.Hash) ([]object.TreeEntry, error) {
	found, err := object.GetTree(from, hash)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", hash, err)
	}
	seen := make(map[string]bool, len(found.Entries))
	for _, entry := range found.Entries {
		if err := plainName(entry.Name); err != nil {
			return nil, &NameError{Name: entry.Name, Problem: err.Error()}
		}
		if seen[entry.Name] {
			return nil, &NameError{Name: entry.Name, Problem: "is in its directory twice"}
		}
		seen[entry.Name] = true
	}
	return found.Entries, nil
}

// plainName rejects names that have a special meaning in a path.
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
