package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
)

// rootDataDir is the data directory for root, because the user that runs PostgreSQL cannot
// enter root's home.
const rootDataDir = "/var/lib/nuon/dev"

// dataDir is the data directory; its methods return the paths in it.
type dataDir struct{ dir string }

func (p dataDir) lock() string              { return filepath.Join(p.dir, "lock") }
func (p dataDir) postgres() string          { return filepath.Join(p.dir, "postgres") }
func (p dataDir) key() string               { return filepath.Join(p.dir, "server.key") }
func (p dataDir) reconciler() string        { return filepath.Join(p.dir, "reconciler") }
func (p dataDir) ready() string             { return filepath.Join(p.dir, "reconciler.ready.json") }
func (p dataDir) admission() string         { return filepath.Join(p.dir, "admission.json") }
func (p dataDir) runner(name string) string { return filepath.Join(p.dir, "runners", name) }

// DefaultDataDir returns nuon/dev below XDG_DATA_HOME or ~/.local/share. For
// root it returns /var/lib/nuon/dev if PostgreSQL could not use that directory.
func DefaultDataDir(getenv func(string) string) (string, error) {
	base := getenv("XDG_DATA_HOME")
	if base == "" && getenv("HOME") != "" {
		base = filepath.Join(getenv("HOME"), ".local", "share")
	}
	if base != "" {
		dir := filepath.Join(base, "nuon", "dev")
		if os.Geteuid() != 0 || pgcluster.CheckDir(dataDir{dir}.postgres()) == nil {
			return dir, nil
		}
	}
	if os.Geteuid() == 0 {
		return rootDataDir, nil
	}
	return "", errors.New("no data directory: HOME is not set; set one with --data-dir")
}

// openDataDir creates the data directory. Only its owner can enter it, except that for root the
// user that runs PostgreSQL must pass through it; files with secrets have their own modes.
func openDataDir(dir string, getenv func(string) string) (dataDir, error) {
	if dir == "" {
		found, err := DefaultDataDir(getenv)
		if err != nil {
			return dataDir{}, err
		}
		dir = found
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dataDir{}, fmt.Errorf("data directory: %w", err)
	}
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
		// Missing parents must be passable as well, independent of the umask.
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return dataDir{}, fmt.Errorf("data directory: %w", err)
		}
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return dataDir{}, fmt.Errorf("data directory: %w", err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		return dataDir{}, fmt.Errorf("data directory: %w", err)
	}
	opened := dataDir{dir}
	for _, below := range []string{opened.reconciler(), opened.runner("build"), opened.runner("local")} {
		if err := os.MkdirAll(below, 0o700); err != nil {
			return dataDir{}, fmt.Errorf("data directory: %w", err)
		}
	}
	return opened, nil
}

// take locks the directory, so that only one nuon dev uses it. The kernel releases the
// lock when the process ends.
func (p dataDir) take(ctx context.Context) (release func() error, err error) {
	file, err := filelock.Claim(ctx, p.lock())
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf(
			"another nuon dev uses %s; stop it, or set other --data-dir, --listen, --runner-listen and "+
				"--registry-listen",
			p.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return func() error { return filelock.Unlock(file) }, nil
}

// fileRemotes returns the directories below which file:// remotes are allowed, as absolute paths.
func fileRemotes(given []string) ([]string, error) {
	if len(given) == 0 {
		here, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working directory: %w; set a directory with --allow-file-remotes", err)
		}
		return []string{repositoryRoot(here)}, nil
	}
	var absolute []string
	for _, dir := range given {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("--allow-file-remotes: %w", err)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--allow-file-remotes %s: no such directory", dir)
		}
		absolute = append(absolute, dir)
	}
	return absolute, nil
}

// repositoryRoot returns the nearest directory at or above dir that contains .git, else dir.
func repositoryRoot(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}
