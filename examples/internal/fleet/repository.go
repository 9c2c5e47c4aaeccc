package fleet

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Repository is a vendor's repository: a bare one, which the control plane watches, and a work tree
// that is pushed to it.
type Repository struct {
	// Tree is the work tree, URL the bare repository's.
	Tree, URL string
}

// NewRepository creates a repository with the given files, and pushes them.
func (f *Fleet) NewRepository(ctx context.Context, name string, files fs.FS) (*Repository, error) {
	bare := f.path("git", name+".git")
	r := &Repository{Tree: f.path("vendor", name), URL: "file://" + bare}
	if err := os.CopyFS(r.Tree, files); err != nil {
		return nil, fmt.Errorf("make the repository %s: %w", name, err)
	}
	for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", bare}, {"init", "-q", "-b", "main"},
		{"remote", "add", "origin", bare}} {
		if err := r.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return r, r.Push(ctx, "Package the app")
}

// Write writes a file in the work tree.
func (r *Repository) Write(file, text string) error {
	return os.WriteFile(filepath.Join(r.Tree, filepath.FromSlash(file)), []byte(text), 0o644)
}

// Push commits everything and pushes it.
func (r *Repository) Push(ctx context.Context, message string) error {
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", message},
		{"push", "-q", "-u", "origin", "main"}} {
		if err := r.git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repository) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.Tree
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Vera Vendor",
		"GIT_AUTHOR_EMAIL=vera@vendor.example",
		"GIT_COMMITTER_NAME=Vera Vendor", "GIT_COMMITTER_EMAIL=vera@vendor.example")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}
