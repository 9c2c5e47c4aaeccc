package validate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/configfetch"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// config is the config of one app, with its diagnostics.
type config struct {
	dir    string // as the person named it
	prefix string // prefix of the file names, if there are several configs
	inGit  bool

	remoteModules int // Terraform components whose module is in another repository

	root  string // slash path from the root of the repository to the directory, if it is in one
	app   *appconfig.App
	found appconfig.Diagnostics // file names are relative to dir
}

// Load reads the config in a directory without using the network.
func Load(ctx context.Context, dir string) (*appconfig.App, appconfig.Diagnostics, error) {
	one, err := read(dir, filesOnly(configfetch.Local().Load(ctx)))
	if err != nil {
		return nil, nil, err
	}
	return one.app, one.found, nil
}

// readAll reads all named directories. It skips files among several arguments, so that
// `apps/*` can be used.
func readAll(ctx context.Context, c *console.Console, o options, dirs []string) ([]config, error) {
	var all []config
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() && len(dirs) > 1 {
			continue
		}
		fetch := configfetch.Local().Load(ctx)
		if !o.fetch {
			fetch = filesOnly(fetch)
		}
		one, err := read(dir, fetch)
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if one.app != nil && one.app.NotFetched() > 0 {
			c.Messagef("%s", remoteModulesNote(one.app.NotFetched()))
		}
		if one.remoteModules > 0 {
			c.Messagef("%s", uncheckedNote(one.remoteModules))
		}
		if o.strict {
			one.strict()
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, exitcode.Usagef("none of %s is a directory", console.Line(strings.Join(dirs, ", ")))
	}
	if len(all) > 1 {
		for i := range all {
			all[i].prefix = filepath.ToSlash(filepath.Clean(all[i].dir)) + "/"
		}
	}
	return all, nil
}

// filesOnly restricts fetch to files on this machine, so that it does not use the network.
func filesOnly(fetch func(string, int64) ([]byte, error)) func(string, int64) ([]byte, error) {
	return func(reference string, limit int64) ([]byte, error) {
		if !configfetch.IsLocal(reference) {
			return nil, appconfig.ErrNotFetched
		}
		return fetch(reference, limit)
	}
}

func remoteModulesNote(n int) string {
	if n == 1 {
		return "1 remote file that the config refers to was not read; read it with --fetch"
	}
	return fmt.Sprintf("%d remote files that the config refers to were not read; read them with --fetch", n)
}

// uncheckedNote returns the note about modules whose variables and outputs only a build can check.
func uncheckedNote(n int) string {
	if n == 1 {
		return "1 component has its Terraform module in another repository; a build checks its variables and outputs"
	}
	return fmt.Sprintf("%d components have their Terraform modules in other repositories; a build checks their variables "+
		"and outputs", n)
}

// countRemoteModules returns the number of Terraform components whose module is not in this work tree.
func countRemoteModules(app *appconfig.App, tree workTree) int {
	if app == nil {
		return 0
	}
	all := app.Components
	if app.Sandbox != nil {
		all = append([]appconfig.Component{*app.Sandbox}, all...)
	}
	n := 0
	for i := range all {
		if c := &all[i]; c.Terraform != nil && c.Source != nil && !c.Source.IsIn(tree.repository, tree.branch) {
			n++
		}
	}
	return n
}

// read reads the config in one directory.
func read(dir string, fetch func(string, int64) ([]byte, error)) (config, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return config{}, exitcode.With(exitcode.Usage, fmt.Errorf("read the config in %s: %w", dir, err))
	}
	tree := workTreeOf(dir)
	options := appconfig.Options{Fetch: fetch, Repository: tree.repository, Branch: tree.branch}
	if tree.root != "" {
		root, err := os.OpenRoot(tree.root)
		if err != nil {
			return config{}, fmt.Errorf("read the work tree of %s: %w", dir, err)
		}
		defer root.Close() //nolint:errcheck // it was only read
		options.Tree, options.Root, options.Directory = root.FS(), root.FS(), tree.dir
	}
	app, found := appconfig.Load(os.DirFS(dir), options)
	if found == nil {
		found = appconfig.Diagnostics{}
	}
	return config{
		dir: dir, remoteModules: countRemoteModules(app, tree), inGit: tree.found, root: tree.dir, app: app, found: found,
	}, nil
}

// strict turns the warnings of the config into errors. A config with errors has no app.
func (c *config) strict() {
	if len(c.found) > 0 {
		c.found, c.app = c.found.Strict(), nil
	}
}

// findings returns the diagnostics of all configs.
func findings(all []config) appconfig.Diagnostics {
	found := appconfig.Diagnostics{}
	for _, one := range all {
		for _, d := range one.found {
			found = append(found, one.prefixed(d))
		}
	}
	return found
}

// prefixed returns a diagnostic with the prefix of the config in its file name.
func (c *config) prefixed(d diagnostic.Diagnostic) diagnostic.Diagnostic {
	d.File = c.prefix + d.File
	return d
}
