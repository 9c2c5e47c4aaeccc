package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

func (c *checker) checkRunner() {
	if c.runner != nil {
		c.checkVariableNames(c.runner.table, "env_vars")
		c.checkDriver(c.runner.table, "helm_driver", c.runner.value.HelmDriver)
	}
}

// checkStack checks stack.toml: section 7.2.
func (c *checker) checkStack() {
	if c.stack == nil {
		return
	}
	t, stack := c.stack.table, &c.stack.value
	var list []declaredName
	indexes := map[int]int{}
	for i := range stack.CustomNestedStacks {
		nested, path := &stack.CustomNestedStacks[i], syntax.JoinIndex("custom_nested_stacks", i)
		at := t.Position(path + ".name")
		c.checkName("nested stack", stackName, nested.Name, at)
		list = append(list, declaredName{nested.Name, at})
		c.checkTemplateURL(t.Position(path+".template_url"), nested.TemplateURL)
		if nested.Index == nil {
			continue
		}
		if first, taken := indexes[*nested.Index]; taken {
			c.errorf(ruleDuplicateIndex, t.Position(path+".index"), "choose another index",
				"nested stack %s has the index %d already", diagnostic.Quote(stack.CustomNestedStacks[first].Name),
				*nested.Index)
		} else {
			indexes[*nested.Index] = i
		}
	}
	c.checkUnique("nested stack", list)
}

// checkTemplateURL checks the URL of a nested stack: an S3 URL on AWS, https on Azure, a module
// of a repository on GCP.
func (c *checker) checkTemplateURL(at syntax.Position, url string) {
	cloud := c.cloud
	if c.stack.value.Type != "" {
		cloud = cloudOf(c.stack.value.Type)
	}
	if url == "" || strings.Contains(url, "{{") || cloud == "" || cloud == cloudGCP ||
		c.stack.value.Type == "aws-terraform" {
		return
	}
	if problem, hint := format.CheckValue(format.FormatURL, url); problem != "" {
		c.errorf(format.FormatURL, at, hint, "template_url %s", problem)
	}
}
