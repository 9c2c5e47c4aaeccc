package apps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud/standin"
)

// repository is a repository that apps name, in the mirror.
type repository struct {
	name     string // owner/name
	tree     string
	bare     string
	branches []string
}

// mirror is the directory of bare repositories from which the control plane reads those of GitHub.
type mirror struct {
	dir string

	mu           sync.Mutex
	repositories map[string]*repository
}

// shortName is the form of a repository at GitHub in configs.
var shortName = regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)

// add returns a repository of the mirror with a branch.
func (m *mirror) add(name, branch string) (*repository, error) {
	name = strings.TrimSuffix(name, ".git")
	if !shortName.MatchString(name) {
		return nil, fmt.Errorf("repository %s is not at GitHub", name)
	}
	r := m.repositories[name]
	if r == nil {
		r = &repository{name: name, tree: filepath.Join(m.dir, "trees", name),
			bare: filepath.Join(m.dir, "bare", name+".git"), branches: []string{"main"}}
		m.repositories[name] = r
		if err := os.MkdirAll(r.tree, 0o755); err != nil {
			return nil, err
		}
	}
	if branch != "" && !slices.Contains(r.branches, branch) {
		r.branches = append(r.branches, branch)
	}
	return r, nil
}

// push commits and pushes all files of a repository to all its branches.
func (m *mirror) push(ctx context.Context, r *repository, message string) error {
	if _, err := os.Stat(r.bare); errors.Is(err, fs.ErrNotExist) {
		for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", r.bare}, {"init", "-q", "-b", "main"},
			{"remote", "add", "origin", r.bare}} {
			if err := git(ctx, r.tree, args...); err != nil {
				return err
			}
		}
	}
	args := []string{"push", "-q", "origin"}
	for _, branch := range r.branches {
		args = append(args, "HEAD:refs/heads/"+branch)
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", message}, args} {
		if err := git(ctx, r.tree, args...); err != nil {
			return err
		}
	}
	return nil
}

func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=Vera Vendor",
		"GIT_AUTHOR_EMAIL=vera@vendor.example", "GIT_COMMITTER_NAME=Vera Vendor", "GIT_COMMITTER_EMAIL=vera@vendor.example")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}

// fill writes what the apps use into the mirror: sandboxes, the code that their directories have, and
// stand-ins.
func (m *mirror) fill(ctx context.Context, apps []*App) error {
	for _, a := range apps {
		if err := m.addSandbox(a); err != nil {
			return err
		}
		if err := m.addCode(a); err != nil {
			return err
		}
	}
	share(apps)
	for _, a := range apps {
		if _, err := m.standIns(a, 1); err != nil {
			return err
		}
	}
	for _, r := range m.repositories {
		if err := m.push(ctx, r, "Publish"); err != nil {
			return err
		}
	}
	return nil
}

// share merges the variables and outputs of code that several apps use.
func share(apps []*App) {
	all := map[string]standin.Code{}
	each := func(visit func(key string, code *standin.Code)) {
		for _, a := range apps {
			for i := range a.code {
				visit(a.code[i].Repository+"\x00"+a.code[i].Directory, &a.code[i])
			}
		}
	}
	each(func(key string, code *standin.Code) {
		merged := all[key]
		merged.Variables = append(merged.Variables, code.Variables...)
		merged.Outputs = append(merged.Outputs, code.Outputs...)
		merged.Files = append(merged.Files, code.Files...)
		all[key] = merged
	})
	each(func(key string, code *standin.Code) {
		merged := all[key]
		code.Variables, code.Outputs, code.Files = merged.Variables, merged.Outputs, merged.Files
		code.Normalize()
	})
}

func (m *mirror) addSandbox(a *App) error {
	if a.sandbox.Directory == "" {
		return nil
	}
	r, err := m.add(a.config.Sandbox.Source.Repo, a.config.Sandbox.Source.Branch)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.tree, "variables.tf")); err == nil {
		return nil
	}
	return a.sandbox.copyTo(r.tree)
}

// addCode copies the code of an app into the repository that has it.
func (m *mirror) addCode(a *App) error {
	own := map[string]bool{}
	for _, code := range a.code {
		r, err := m.add(code.Repository, code.Branch)
		if err != nil {
			return err
		}
		own[r.name] = true
	}
	for name := range own {
		r := m.repositories[name]
		to := ""
		switch {
		case name == codeRepository:
			to = filepath.Join(r.tree, a.Name)
		case strings.HasSuffix(name, "/"+a.Name):
			to = r.tree
		default:
			continue
		}
		if err := os.CopyFS(to, os.DirFS(a.tree)); err != nil {
			return err
		}
	}
	return nil
}

// standIns writes the stand-ins of an app's code, of a release, and returns the repositories that have
// any.
func (m *mirror) standIns(a *App, release int) (changed []*repository, err error) {
	for i := range a.code {
		code := &a.code[i]
		r, err := m.add(code.Repository, code.Branch)
		if err != nil {
			return nil, err
		}
		missing, err := code.Write(r.tree, release)
		if err != nil {
			return nil, err
		}
		if missing {
			a.note("%s of %s is a stand-in", code.Kind, strings.Join(code.Users, ", "))
			if !slices.Contains(changed, r) {
				changed = append(changed, r)
			}
		}
	}
	return changed, nil
}

// update pushes a second release of the stand-ins that only this app uses, and reports whether there
// are any.
func (m *mirror) update(ctx context.Context, a *App, apps []*App) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	only := *a
	only.code = nil
	for _, code := range a.code {
		shared := slices.ContainsFunc(apps, func(other *App) bool {
			return other != a && slices.ContainsFunc(other.code, func(c standin.Code) bool {
				return c.Repository == code.Repository && c.Directory == code.Directory
			})
		})
		if !shared && code.Kind != standin.Script {
			only.code = append(only.code, code)
		}
	}
	changed, err := m.standIns(&only, 2)
	for _, r := range changed {
		if err == nil {
			err = m.push(ctx, r, "Update "+a.Name)
		}
	}
	return len(changed) > 0, err
}
