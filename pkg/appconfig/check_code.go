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

// theRepository is what messages call Options.Tree.
const theRepository = "the repository"

// local reports whether a repository is the one that holds the config, so that Options.Tree has its
// files.
func (c *checker) local(repo *format.Repository) bool {
	if c.options.Tree == nil || repo == nil || strings.Contains(repo.Directory, "{{") || outside(repo.Directory) {
		return false
	}
	return Source{Repo: repo.Repo, Branch: repo.Branch}.In(c.options.Repository, c.options.Branch)
}

// checkPlace reports a directory that does not exist in the repository of the config.
func (c *checker) checkPlace(at syntax.Position, repo *format.Repository) {
	dir := path.Clean(repo.Directory)
	if !c.local(repo) || c.isDirectory(dir) {
		return
	}
	c.errorf(ruleSourceDirectory, at, c.nearDirectory(dir),
		"there is no directory %s in %s", quoteless(dir), theRepository)
}

func (c *checker) isDirectory(dir string) bool {
	info, err := fs.Stat(c.options.Tree, dir)
	return err == nil && info.IsDir()
}

// maxSiblings is the largest number of directory entries among which nearDirectory searches.
const maxSiblings = 1000

// nearDirectory returns the hint for a directory that does not exist: a sibling with a similar
// name.
func (c *checker) nearDirectory(dir string) string {
	const other = "commit it there, or correct the path, which begins at the root of the repository"
	above, rest := ".", strings.Split(dir, "/")
	for len(rest) > 1 && c.isDirectory(path.Join(above, rest[0])) {
		above, rest = path.Join(above, rest[0]), rest[1:]
	}
	entries, err := fs.ReadDir(c.options.Tree, above)
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
	return fmt.Sprintf("did you mean %q?", path.Join(append([]string{above, nearest}, rest[1:]...)...))
}

// readCode reads the modules, charts and kustomizations in the repository of the config, each
// directory once, and reports those that a build could not read.
func (c *checker) readCode() {
	c.modules = map[string]*tfmodule.Module{}
	known := map[string]sourcedir.Found{}
	if c.sandbox != nil && c.sandbox.value.Type != "pulumi" {
		made := Component{Terraform: &Terraform{}}
		c.readComponent(SandboxName, c.sandbox.table, c.sandbox.value.Repositories, made, known)
	}
	for _, one := range c.components {
		made := Component{}
		switch {
		case one.module != nil:
			made.Terraform = &Terraform{}
		case one.chart != nil:
			made.Helm = &Helm{}
		case one.manifest != nil:
			made.Manifest = &Manifest{Kustomize: one.manifest.Kustomize}
		}
		c.readComponent(one.Name, one.table, one.repositories(), made, known)
	}
}

// readComponent reads the code of one component. made has the component's kind.
func (c *checker) readComponent(name string, t *syntax.Table, from format.Repositories, made Component,
	known map[string]sourcedir.Found) {
	repo, key := from.PublicRepo, "public_repo"
	if repo == nil {
		repo, key = from.ConnectedRepo, "connected_repo"
	}
	made.Source = sourceOf(from)
	code, reads := made.Code()
	if c.full() || !c.local(repo) || !reads || !c.isDirectory(made.Source.Directory) { // reported by checkPlace
		return
	}
	place := fmt.Sprintf("%+v", code)
	found, again := known[place]
	if !again {
		var err error
		if found, err = code.Find(c.options.Tree, theRepository); err != nil {
			var missing *sourcedir.MissingError
			at := t.Place(key + ".directory")
			if errors.As(err, &missing) && has(t, "kustomize") {
				at = t.Place("kustomize.path")
			}
			c.errorf(ruleSourceCode, at, "", "%s", err)
		}
		known[place] = found
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
	for _, one := range c.components {
		if one.module != nil {
			c.checkVariables(one.Name, one.table, one.module.Vars, one.module.VarFiles, one.texts)
		}
	}
}

func (c *checker) checkVariables(name string, t *syntax.Table, vars map[string]string, files []format.VarFile,
	texts map[string]content) {
	module := c.modules[name]
	if module == nil {
		return
	}
	values := moduleValues{vars: vars}
	for i, file := range files {
		key := syntax.Item("var_file", i) + ".contents"
		held, refers := texts[key]
		if refers && held.unknown {
			values.partial = true
			continue
		}
		values.files = append(values.files, file.Contents)
		c.checkVarFile(module, key, t, file.Contents, held, refers)
	}
	for _, one := range values.mismatches(module) {
		c.errorf(ruleModuleVariable, t.KeyPlace(one.key), one.hint, "%s: %s", one.key, one.message)
	}
}

// checkVarFile warns about variables in a file that the module does not declare: Terraform ignores
// them, since one file may serve several modules. Templates are left to the deploy.
func (c *checker) checkVarFile(module *tfmodule.Module, key string, t *syntax.Table, text string, held content,
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
		f.file = &held
	}
	for _, one := range set {
		if !known[one.Name] && (f.file != nil || f.node != nil) {
			c.warnf(ruleNoEffect, f.place(one.Line, one.Column, len(one.Name)), "remove it",
				"%s: %s has no effect: the module in %s has no such variable", key, quoteless(one.Name), module.Dir)
		}
	}
}

// checkModuleOutput returns the problem when a text reads an output that the module of a component,
// or of the sandbox, does not declare.
func (c *checker) checkModuleOutput(t *text, name, output string) *finding {
	module := c.modules[name]
	if module == nil || asksFor(t.text, output) {
		return nil
	}
	one, missing := noOutput(module, output, &c.nearest)
	if !missing {
		return nil
	}
	return wrong(ruleModuleOutput, one.hint, "%s", one.message)
}
