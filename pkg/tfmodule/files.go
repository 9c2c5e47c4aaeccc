package tfmodule

import (
	"io/fs"
	"path"
)

// leftOut says what never belongs to a module: what a local run of Terraform left behind, and git's own files. State may hold
// secrets.
func leftOut(name string) bool {
	if name == ".terraform" || name == ".git" {
		return true
	}
	state, err := path.Match("*.tfstate*", name)
	return err == nil && state
}

// Outside gives a filter that is true for what does not belong to a module with these Dirs. It fits the Skip of
// artifact.ReadOptions and any fs.WalkDir over the same tree: a directory on the way to one of the dirs is not outside.
func Outside(dirs []string) func(name string, entry fs.DirEntry) bool {
	return func(name string, entry fs.DirEntry) bool {
		if leftOut(entry.Name()) && name != "." {
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
