package apps

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud/standin"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// App is an app to be installed.
type App struct {
	Name string
	// Source is the directory of its config, which is never changed.
	Source string

	tree       string // the copy that is pushed
	config     *appconfig.App
	code       []standin.Code
	sandbox    sandbox
	sandboxErr error // why there is none
	// Notes lists what is not as in the source: stand-ins and dropped files.
	Notes []string
}

// note adds a note once.
func (a *App) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(a.Notes, text) {
		a.Notes = append(a.Notes, text)
	}
}

// Find returns the apps in the directories of a corpus, sorted.
func Find(corpus string) (found []*App, err error) {
	if corpus, err = filepath.Abs(corpus); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(corpus)
	if err != nil {
		return nil, fmt.Errorf("read the apps: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(corpus, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, "sandbox.toml")); err == nil {
			found = append(found, &App{Name: entry.Name(), Source: dir})
		}
	}
	return found, nil
}

// lockFile is the name of Terraform's lock files. Those that are committed have the checksums of real
// providers.
const lockFile = ".terraform.lock.hcl"

// prepare copies the app to a directory, replaces what is not available, and reads the config.
func (a *App) prepare(to string) error {
	a.tree = to
	if err := os.CopyFS(to, os.DirFS(a.Source)); err != nil {
		return fmt.Errorf("copy %s: %w", a.Name, err)
	}
	if err := a.dropLocks(); err != nil {
		return err
	}
	if err := a.load(); err != nil {
		return err
	}
	if err := a.replaceComponents(); err != nil {
		return err
	}
	if err := a.unpin(); err != nil {
		return err
	}
	if err := a.replaceScripts(); err != nil {
		return err
	}
	if err := a.load(); err != nil {
		return err
	}
	a.code = standin.Collect(a.config)
	return nil
}

func (a *App) dropLocks() error {
	return filepath.WalkDir(a.tree, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != lockFile {
			return err
		}
		a.note("lock files of providers dropped")
		return os.Remove(file)
	})
}

// load reads the config of the copy.
func (a *App) load() error {
	config, diagnostics := appconfig.Load(os.DirFS(a.tree), appconfig.Options{})
	if config == nil {
		return fmt.Errorf("the config of %s has errors: %s", a.Name, diagnostics[0])
	}
	a.config = config
	return nil
}

// componentName finds the name in the file of a component.
var componentName = regexp.MustCompile(`(?m)^name\s*=\s*"([^"]*)"`)

// helmRepo finds the section of a chart from a chart repository.
var helmRepo = regexp.MustCompile(`(?m)^\[helm_repo\]\n(?:[^\[\n].*\n?|\n)*`)

// replaceComponents replaces components that are images by modules with their outputs, and charts of chart
// repositories by stand-ins, because neither registries nor chart repositories are reached.
func (a *App) replaceComponents() error {
	files, err := filepath.Glob(filepath.Join(a.tree, "components", "*.toml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		match := componentName.FindSubmatch(content)
		if match == nil {
			continue
		}
		c, found := a.config.Component(string(match[1]))
		if found && c.Helm != nil && c.Helm.Repository != nil {
			source := fmt.Sprintf("[public_repo]\nrepo = %q\ndirectory = %q\nbranch = \"main\"\n\n", codeRepository,
				path.Join(a.Name, "standin", c.Name))
			if err := os.WriteFile(file, helmRepo.ReplaceAll(content, []byte(source)), 0o644); err != nil {
				return err
			}
			a.note("chart %s is not from %s", c.Name, c.Helm.Repository.RepoURL)
			continue
		}
		if !found || c.Kind != format.KindContainerImage && c.Kind != format.KindDockerBuild {
			continue
		}
		text := fmt.Sprintf("name = %q\ntype = \"terraform_module\"\nterraform_version = \"1.11.4\"\n\n[public_repo]\n"+
			"repo = %q\ndirectory = %q\nbranch = \"main\"\n", c.Name, codeRepository,
			path.Join(a.Name, "standin", c.Name))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		a.note("image %s is a stand-in", c.Name)
	}
	return nil
}

// pinned finds a commit as the branch of a repository.
var pinned = regexp.MustCompile(`(?m)^(branch\s*=\s*)"[0-9a-f]{40}"`)

// unpin makes code that is pinned to a commit follow a branch: the mirror has other commits.
func (a *App) unpin() error {
	files, err := filepath.Glob(filepath.Join(a.tree, "components", "*.toml"))
	if err != nil {
		return err
	}
	for _, file := range append(files, filepath.Join(a.tree, "sandbox.toml")) {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		changed := pinned.ReplaceAll(content, []byte(`$1"main"`))
		if string(changed) == string(content) {
			continue
		}
		a.note("%s follows main instead of a commit", strings.TrimSuffix(filepath.Base(file), ".toml"))
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// codeRepository is the repository that has the code of most public apps, in a directory for each.
const codeRepository = "nuonco/example-app-configs"
