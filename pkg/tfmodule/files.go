package tfmodule

import (
	"io/fs"
	"path"
)

// isIgnored reports whether a file never belongs to a module: the files of a local Terraform run, and
// git's own files. State may contain secrets.
func isIgnored(name string) bool {
	if name == ".terraform" || name == ".git" {
		return true
	}
	state, err := path.Match("*.tfstate*", name)
	return err == nil && state
}

// Outside returns a filter that is true for paths that do not belong to a module with these Dirs.
// It can be used as the Skip of artifact.ReadOptions and in any fs.WalkDir over the same tree: a
// directory on the way to one of the dirs is not outside.
func Outside(dirs []string) func(name string, entry fs.DirEntry) bool {
	return func(name string, entry fs.DirEntry) bool {
		if isIgnored(entry.Name()) && name != "." {
			return true
		}
		for _, dir := range dirs {
			if isBelow(name, dir) || entry.IsDir() && isBelow(dir, name) {
				return false
			}
		}
		return true
	}
}
