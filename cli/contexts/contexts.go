// Package contexts stores the control planes that a person works with: a small
// TOML file with a name, address and token for each, and the current one. The
// environment (NUON_URL, NUON_TOKEN, NUON_CONTEXT) overrides the file, for CI.
package contexts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Context holds the address and token of a control plane.
type Context struct {
	URL   string `toml:"url"`
	Token string `toml:"token"`
	Org   string `toml:"org,omitempty"`
}

// File is the content of the file.
type File struct {
	Current  string             `toml:"current"`
	Contexts map[string]Context `toml:"contexts"`
}

// Path returns the path of the file: NUON_CONFIG, else nuon/config.toml in the
// platform's configuration directory.
func Path() (string, error) {
	if p := os.Getenv("NUON_CONFIG"); p != "" {
		return p, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration directory (set NUON_CONFIG): %w", err)
	}
	return filepath.Join(dir, "nuon", "config.toml"), nil
}

// CacheFile returns the file for what was last seen of a control plane, as one person sees it: no two
// addresses, orgs or tokens share one. It is empty if the platform has no directory for caches.
func (c Context) CacheFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(c.URL + "\n" + c.Token))
	return filepath.Join(dir, "nuon", "home", hex.EncodeToString(sum[:16])+".json")
}

// Load reads the file. A missing file is empty.
func Load() (File, error) {
	f := File{Contexts: map[string]Context{}}
	path, err := Path()
	if err != nil {
		return f, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read contexts: %w", err)
	}
	if err := toml.Unmarshal(b, &f); err != nil {
		return f, exitcode.BadTOML(path, err)
	}
	if f.Contexts == nil {
		f.Contexts = map[string]Context{}
	}
	return f, nil
}

// Save writes the file atomically, readable only by its owner.
func (f File) Save() error {
	p, err := Path()
	if err != nil {
		return err
	}
	b, err := toml.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		return fmt.Errorf("save contexts: %w", err)
	}
	if err := WriteFileAtomic(p, b); err != nil {
		return fmt.Errorf("save contexts: %w", err)
	}
	return nil
}

// WriteFileAtomic writes data to path atomically, readable only by its owner. If path is a symbolic link,
// it replaces the target.
func WriteFileAtomic(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*.toml") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it is gone when all went well
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Selection is the selected context, and what selected it.
type Selection struct {
	Context
	Name string // empty if the environment sets address and token
	From string // for display
}

// Select returns the context called name, else the one in NUON_CONTEXT, else NUON_URL with NUON_TOKEN, else the
// current context.
func Select(name string) (Context, error) {
	c, err := SelectWithSource(name)
	return c.Context, err
}

// SelectWithSource returns what Select returns, and what selected it.
func SelectWithSource(name string) (Selection, error) {
	env, source := Context{URL: os.Getenv("NUON_URL"), Token: os.Getenv("NUON_TOKEN")}, "--context"
	if name == "" {
		name, source = os.Getenv("NUON_CONTEXT"), "NUON_CONTEXT"
	}
	if name == "" && env.URL != "" && env.Token != "" {
		return Selection{Context: env, From: "NUON_URL and NUON_TOKEN"}, nil
	}
	f, err := Load()
	if err != nil {
		return Selection{}, err
	}
	if name == "" {
		name, source = f.Current, "the current context"
	}
	c, ok := f.Contexts[name]
	switch {
	case ok:
	case name == "":
		return Selection{}, exitcode.With(exitcode.Unreachable,
			errors.New("no control plane selected: run `nuon dev`, set NUON_URL and NUON_TOKEN, or add a context "+
				"with `nuon context add`"))
	default:
		return Selection{}, exitcode.With(exitcode.Usage,
			fmt.Errorf("context %q not found; list them with `nuon context list`", name))
	}
	if env.URL != "" {
		c.URL, source = env.URL, source+", address from NUON_URL"
	}
	if env.Token != "" {
		c.Token, source = env.Token, source+", token from NUON_TOKEN"
	}
	return Selection{Context: c, Name: name, From: source}, nil
}
