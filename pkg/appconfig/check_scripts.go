package appconfig

import (
	"fmt"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/sourcedir"
)

// checkScript checks what a step runs: an inline script, whose text is script, or a program of a repository.
func (c *checker) checkScript(t *syntax.Table, path, name, script string, from format.Repositories) {
	inline, command := t.Find(path+".inline_contents"), t.Find(path+".command")
	c.checkEnvironment(t, path+".env_vars")
	c.checkSource(t, path, from)
	switch {
	case inline != nil && command != nil:
		c.errorf(ruleChooseOne, command.At, "keep one of them",
			"step %s has both inline_contents and command", diagnostic.Quote(name))
	case inline != nil:
		c.checkInterpreter(inline.At, name, script)
	case command != nil:
		if text, _ := command.Text(); strings.TrimSpace(text) == "" {
			c.errorf(ruleMissingKey, command.At, "", "the command of step %s is empty", diagnostic.Quote(name))
			return
		}
	}
	c.checkScriptCode(t, path, command, from)
}

// checkInterpreter warns of a script without the #! line, which fails on the runner. A template may begin with it.
func (c *checker) checkInterpreter(at syntax.Position, name, text string) {
	if isReference(text) || strings.HasPrefix(text, "#!") || strings.HasPrefix(text, "{{") {
		return // a reference whose file is unknown was reported, or is not read
	}
	c.warnf(ruleInterpreter, at, "let its first line be like #!/bin/sh",
		"the script of step %s fails on the runner: it does not say what runs it", diagnostic.Quote(name))
}

// checkScriptCode checks the program of a step, and its directory if that is in the repository of the
// config.
func (c *checker) checkScriptCode(t *syntax.Table, at string, command *syntax.Node, from format.Repositories) {
	repo, key := from.PublicRepo, "public_repo"
	if repo == nil {
		repo, key = from.ConnectedRepo, "connected_repo"
	}
	if repo == nil || c.full() {
		return
	}
	dir, text := path.Clean(repo.Directory), ""
	if command != nil {
		text, _ = command.Text()
	}
	if !c.isLocal(repo) || !c.isDirectory(dir) { // reported by checkCodeDirectory
		if _, err := CommandFile(dir, text); err != nil {
			c.errorf(ruleSourceCode, command.At, "", "%s", err)
		}
		return
	}
	err, seen := c.scripts[dir]
	if !seen {
		_, err = sourcedir.Code{Kind: sourcedir.Scripts, Directory: dir}.Find(c.options.Tree, repositoryName)
		c.scripts[dir] = err
		if err != nil {
			c.errorf(ruleSourceCode, t.Position(fmt.Sprintf("%s.%s.directory", at, key)), "", "%s", err)
		}
	}
	if err == nil && command != nil {
		if err := checkCommand(dir, text, c.options.Tree, repositoryName); err != nil {
			c.errorf(ruleSourceCode, command.At, "", "%s", err)
		}
	}
}
