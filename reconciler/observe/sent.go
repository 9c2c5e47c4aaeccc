package observe

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// Sent is the tree of files that somebody sent instead of committing them. Every directory in it has the hash that git would give it,
// so it can be compared with what was committed. It lies in memory; files must fit their bounds already (artifact.Untar).
func Sent(files []artifact.File) (*Tree, error) {
	t := &Tree{store: memory.NewStorage(), known: map[plumbing.Hash][]object.TreeEntry{}}
	root := &sentDir{}
	for _, file := range files {
		if err := t.send(root, file); err != nil {
			return nil, fmt.Errorf("take in %s: %w", file.Path, err)
		}
	}
	hash, err := t.sendDir(root)
	if err != nil {
		return nil, fmt.Errorf("take in the tree: %w", err)
	}
	t.root = hash
	return t, nil
}

// sentDir is a directory that is being put together.
type sentDir struct {
	entries []object.TreeEntry
	below   map[string]*sentDir
}

func (d *sentDir) dir(name string) *sentDir {
	if d.below == nil {
		d.below = map[string]*sentDir{}
	}
	if d.below[name] == nil {
		d.below[name] = &sentDir{}
	}
	return d.below[name]
}

func (t *Tree) send(root *sentDir, file artifact.File) error {
	content, mode := file.Content, filemode.Regular
	switch {
	case file.Link != "":
		content, mode = []byte(file.Link), filemode.Symlink
	case file.Executable:
		mode = filemode.Executable
	}
	blob := t.store.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	writer, err := blob.Writer()
	if err != nil {
		return err
	}
	if _, err := writer.Write(content); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	hash, err := t.store.SetEncodedObject(blob)
	if err != nil {
		return err
	}
	at := root
	if dir := path.Dir(file.Path); dir != "." {
		for part := range strings.SplitSeq(dir, "/") {
			at = at.dir(part)
		}
	}
	at.entries = append(at.entries, object.TreeEntry{Name: path.Base(file.Path), Mode: mode, Hash: hash})
	return nil
}

func (t *Tree) sendDir(d *sentDir) (plumbing.Hash, error) {
	for name, below := range d.below {
		hash, err := t.sendDir(below)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		d.entries = append(d.entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
	}
	sort.Sort(object.TreeEntrySorter(d.entries)) // git's own order
	made := t.store.NewEncodedObject()
	if err := (&object.Tree{Entries: d.entries}).Encode(made); err != nil {
		return plumbing.ZeroHash, err
	}
	return t.store.SetEncodedObject(made)
}
