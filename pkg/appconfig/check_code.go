package appconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/sourcedir"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// repositoryName is what messages call Options.Tree.
const repositoryName = "the repository"

// isLocal reports whether a repository is the one that holds the config, so that Options.Tree has its
// files.
func (c *checker) isLocal(repo *format.Repository) bool {
	if c.options.Tree == nil || repo == nil || strings.Contains(repo.Directory, "{{") || escapesRoot(repo.Directory) {
		return false
	}
	return Source{Repo: repo.Repo, Branch: repo.Branch}.IsIn(c.options.Repository, c.options.Branch)
}

// checkCodeDirectory reports a directory that does not exist in the repository of the config.
func (c *checker) checkCodeDirectory(at syntax.Position, repo *format.Repository) {
	dir := path.Clean(repo.Directory)
	if !c.isLocal(repo) || c.isDirectory(dir) {
		return
	}
	c.errorf(ruleSourceDirectory, at, c.nearestDirectoryHint(dir),
		"there is no directory %s in %s", shorten(dir), repositoryName)
}

func (c *checker) isDirectory(dir string) bool {
	info, err := fs.Stat(c.options.Tree, dir)
	return err == nil && info.IsDir()
}

// maxSiblings is the largest number of directory entries among which nearestDirectoryHint searches.
const maxSiblings = 1000

// nearestDirectoryHint returns the hint for a directory that does not exist: a sibling with a similar
// name.
func (c *checker) nearestDirectoryHint(dir string) string {
	const other = "commit it there, or correct the path, which begins at the root of the repository"
	parent, rest := ".", strings.Split(dir, "/")
	for len(rest) > 1 && c.isDirectory(path.Join(parent, rest[0])) {
		parent, rest = path.Join(parent, rest[0]), rest[1:]
	}
	entries, err := fs.ReadDir(c.options.Tree, parent)
	if err != nil || len(entries) > maxSiblings {
		return other
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	nearest, found := diagnostic.Nearest(rest[0], names)
	if !found {
		return other
	}
	return fmt.Sprintf("did you mean %q?", path.Join(append([]string{parent, nearest}, rest[1:]...)...))
}

// readCode reads the modules, charts and kustomizations in the repository of the config, each
// directory once, and reports those that a build could not read.
func (c *checker) readCode() {
	c.modules = map[string]*tfmodule.Module{}
	cache := map[string]sourcedir.Found{}
	if c.sandbox != nil && c.sandbox.value.Type != "pulumi" {
		made := Component{Terraform: &Terraform{}}
		c.readComponentCode(SandboxName, c.sandbox.table, c.sandbox.value.Repositories, made, cache)
	}
	for _, comp := range c.components {
		made := Component{}
		switch {
		case comp.module != nil:
			made.Terraform = &Terraform{}
		case comp.chart != nil:
			made.Helm = &Helm{}
		case comp.build != nil:
			made.Docker = comp.toDocker()
		case comp.manifest != nil:
			made.Manifest = &Manifest{Kustomize: comp.manifest.Kustomize}
		}
		c.readComponentCode(comp.Name, comp.table, comp.repositories(), made, cache)
	}
}

// readComponentCode reads the code of one component. made has the component's kind.
func (c *checker) readComponentCode(name string, t *syntax.Table, from format.Repositories, comp Component,
	cache map[string]sourcedir.Found) {
	repo, key := from.PublicRepo, "public_repo"
	if repo == nil {
		repo, key = from.ConnectedRepo, "connected_repo"
	}
	comp.Source = sourceOf(from)
	code, reads := comp.Code()
	if c.full() || !c.isLocal(repo) || !reads || !c.isDirectory(comp.Source.Directory) { // reported by checkCodeDirectory
		return
	}
	location := fmt.Sprintf("%+v", code)
	found, seen := cache[location]
	if !seen {
		var err error
		if found, err = code.Find(c.options.Tree, repositoryName); err != nil {
			var missing *sourcedir.MissingError
			at := t.Position(key + ".directory")
			switch isMissing := errors.As(err, &missing); {
			case isMissing && has(t, "kustomize"):
				at = t.Position("kustomize.path")
			case !isMissing && comp.Docker != nil:
				at = t.Position("dockerfile")
			}
			c.errorf(ruleSourceCode, at, "", "%s", err)
		}
		cache[location] = found
	}
	if found.Module != nil && name != "" {
		c.modules[name] = found.Module
	}
}

// checkModules reports variables that are set but not declared by their module, and required
// variables that are not set.
func (c *checker) checkModules() {
	if c.sandbox != nil {
		v := &c.sandbox.value
		c.checkVariables(SandboxName, c.sandbox.table, v.Vars, v.VarFiles, c.sandbox.texts)
	}
	for _, comp := range c.components {
		if comp.module != nil {
			c.checkVariables(comp.Name, comp.table, comp.module.Vars, comp.module.VarFiles, comp.texts)
		}
	}
}

func (c *checker) checkVariables(name string, t *syntax.Table, vars map[string]string, files []format.VarFile,
	texts map[string]fileText) {
	module := c.modules[name]
	if module == nil {
		return
	}
	values := moduleValues{vars: vars}
	if name == SandboxName {
		values.passed = platformNames(c.cloud)
	}
	for i, file := range files {
		key := syntax.JoinIndex("var_file", i) + ".contents"
		text, refers := texts[key]
		if refers && text.unknown {
			values.partial = true
			continue
		}
		values.files = append(values.files, file.Contents)
		c.checkVarFile(module, key, t, file.Contents, text, refers)
	}
	for _, m := range values.mismatches(module) {
		c.errorf(ruleModuleVariable, t.KeyPosition(m.key), m.hint, "%s: %s", m.key, m.message)
	}
}

// checkVarFile warns about variables in a file that the module does not declare: Terraform ignores
// them, since one file may serve several modules. Templates are left to the deploy.
func (c *checker) checkVarFile(module *tfmodule.Module, key string, t *syntax.Table, text string, file fileText,
	refers bool) {
	if strings.Contains(text, "{{") {
		return
	}
	set, err := tfmodule.Assignments("var_file", []byte(text))
	if err != nil {
		return // Terraform reports it better, with the plan
	}
	known := map[string]bool{}
	for _, variable := range module.Variables {
		known[variable.Name] = true
	}
	f := fragment{path: key, text: text, node: t.Find(key)}
	if refers {
		f.file = &file
	}
	for _, assignment := range set {
		if !known[assignment.Name] && (f.file != nil || f.node != nil) {
			c.warnf(ruleNoEffect, f.position(assignment.Line, assignment.Column, len(assignment.Name)), "remove it",
				"%s: %s has no effect: the module in %s has no such variable", key, shorten(assignment.Name), module.Dir)
		}
	}
}

// checkModuleOutput returns the problem when a text reads an output that the module of a component,
// or of the sandbox, does not declare.
func (c *checker) checkModuleOutput(t *renderedText, name, output string) *finding {
	module := c.modules[name]
	if module == nil || testsFor(t.text, output) {
		return nil
	}
	m, missing := missingOutput(module, output, &c.nearest)
	if !missing {
		return nil
	}
	return errorFinding(ruleModuleOutput, m.hint, "%s", m.message)
}
