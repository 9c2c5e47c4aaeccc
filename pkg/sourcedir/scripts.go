package sourcedir

import (
	"errors"
	"fmt"
	"io/fs"
)

// scriptDirectories returns the directory of scripts and those that links in it lead to, sorted. A
// link that leads out of the repository is an error.
func scriptDirectories(tree fs.FS, root string) ([]string, error) {
	dirs, err := withLinked(tree, []string{root})
	if err != nil {
		return nil, err
	}
	entries := 0
	for _, dir := range dirs {
		links, err := linksIn(tree, dir, &entries)
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			if _, _, err := follow(tree, link); errors.Is(err, errOutside) {
				return nil, fmt.Errorf("the symbolic link %s leads out of the repository; commit a copy of what it leads to",
					link)
			}
		}
	}
	return dirs, nil
}

// CheckProgram returns an error unless a path of a repository leads to an executable file. where
// names the repository in messages.
func CheckProgram(tree fs.FS, name, where string) error {
	end, _, err := follow(tree, name)
	switch {
	case errors.Is(err, errOutside):
		return fmt.Errorf("%s leads out of %s; commit the file there", name, where)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s in %s; commit it, or correct the command", name, where)
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	}
	info, err := lstat(tree, end)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file; name a file in the command", name)
	case info.Mode()&0o100 == 0:
		return fmt.Errorf("%s is not executable; run \"git update-index --chmod=+x %s\" and commit it", name, end)
	}
	return nil
}
