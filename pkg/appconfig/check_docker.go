package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// The forms of a platform, such as linux/arm64 or linux/arm/v7, and of the name of a stage.
var (
	platformForm = lazyregexp.New(`^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$`)
	stageForm    = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)
)

func (c *checker) checkDockerBuild(comp *component) {
	c.requireSource(comp.table, comp.build.Repositories)
	c.checkDockerfile(comp)
	for _, table := range []string{"build_args", "env_vars"} {
		c.checkVariableNames(comp.table, table)
	}
	if target := comp.build.Target; target != "" && !stageForm.MatchString(target) {
		c.errorf(ruleWrongValue, comp.table.Position("target"), "write the name after AS in the Dockerfile",
			"%s is no name of a stage", diagnostic.Quote(target))
	}
	for i, platform := range comp.build.Platforms {
		if !platformForm.MatchString(platform) {
			c.errorf(ruleWrongValue, comp.table.Position(syntax.JoinIndex("platforms", i)), "write it like linux/amd64",
				"%s is no platform", diagnostic.Quote(platform))
		}
	}
	for i, name := range comp.build.Secrets {
		if !envname.Valid(name) || strings.HasPrefix(name, "NUON_") {
			c.errorf(ruleBadName, comp.table.Position(syntax.JoinIndex("secrets", i)),
				"name a variable that the build runner gets with --pass-env",
				"%s is no name of a secret of a build", diagnostic.Quote(name))
		}
	}
}

func (c *checker) checkDockerfile(comp *component) {
	file := comp.build.Dockerfile
	if _, text := comp.texts["dockerfile"]; text || strings.ContainsAny(file, "\r\n") {
		return
	}
	if escapesRoot(file) {
		c.errorf(ruleRepository, comp.table.Position("dockerfile"), "write a path below the directory of the repository",
			"dockerfile %s is outside of the repository", diagnostic.Quote(file))
	}
}
