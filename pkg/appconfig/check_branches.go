package appconfig

import (
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// checkBranches checks the branches that are rolled out by rule: section 11.5.
func (c *checker) checkBranches() {
	for _, e := range c.branches {
		t, branch := e.table, &e.value
		c.checkSource(t, "", branch.Repositories)
		c.checkInstallGroups(t, branch.InstallGroups)
		if branch.Preview != nil {
			c.checkPreview(t, branch.Preview)
		}
		if branch.Run != nil {
			c.checkBranchRun(t, branch)
		}
		for i, name := range branch.PostDeployRunbooks {
			if c.names.runbooks[name] == nil {
				reportUnknown(c, t.Position(syntax.JoinIndex("post_deploy_runbooks", i)), "runbook", name, c.names.runbooks)
			}
		}
		if branch.SendStatusesOnIgnore && branch.IgnoreChangesRegex == "" {
			c.warnf(ruleNoEffect, t.KeyPosition("send_statuses_on_ignore"), "write ignore_changes_regex, or remove it",
				"send_statuses_on_ignore has no effect: nothing is ignored")
		}
	}
}

func (c *checker) checkInstallGroups(t *syntax.Table, groups []format.InstallGroup) {
	var list []declaredName
	fallback := -1
	for i := range groups {
		group, path := &groups[i], syntax.JoinIndex("install_groups", i)
		list = append(list, declaredName{group.Name, t.Position(path + ".name")})
		selects := len(group.LabelSelector) > 0
		switch {
		case selects && group.Default:
			c.errorf(ruleChooseOne, t.KeyPosition(path+".default"), "keep one of them",
				"install group %s has both label_selector and default", diagnostic.Quote(group.Name))
		case !selects && !group.Default:
			c.errorf(ruleChooseOne, t.Position(path), `write label_selector = { ring = "0" }, or default = true`,
				"install group %s takes no installs: label_selector or default is missing",
				diagnostic.Quote(group.Name))
		}
		if group.Default && fallback >= 0 {
			c.errorf(ruleChooseOne, t.KeyPosition(path+".default"), "keep one of them",
				"two install groups are the default: the other one is %s", diagnostic.Quote(groups[fallback].Name))
		} else if group.Default {
			fallback = i
		}
	}
	c.checkUnique("install group", list)
}

func (c *checker) checkPreview(t *syntax.Table, preview *format.Preview) {
	var targets []string
	for _, key := range []string{"install_id", "install_name", "label_selector"} {
		if n := t.Find("preview." + key); n != nil {
			targets = append(targets, key)
		}
	}
	idle := preview.Mode == "none" || preview.Mode == "build-only"
	switch {
	case len(targets) > 1:
		c.errorf(ruleChooseOne, t.KeyPosition("preview."+targets[1]), "keep one of them",
			"preview: both %s and %s are given", targets[0], targets[1])
	case len(targets) == 0 && !idle:
		c.errorf(ruleMissingKey, t.Position("preview"), `write install_name = "NAME", or mode = "build-only"`,
			"preview: install_id, install_name or label_selector is missing")
	case len(targets) == 1 && idle:
		c.warnf(ruleNoEffect, t.KeyPosition("preview."+targets[0]), "remove it",
			"preview: %s has no effect with mode %s", targets[0], preview.Mode)
	}
}

func (c *checker) checkBranchRun(t *syntax.Table, branch *format.Branch) {
	run := branch.Run
	needs := map[string]string{"on_tag": "tag_prefix", "on_github_label": "github_label"}[run.Mode]
	for key, value := range map[string]string{"tag_prefix": run.TagPrefix, "github_label": run.GithubLabel} {
		switch {
		case key == needs && value == "":
			c.errorf(ruleMissingKey, t.Position("run.mode"), "", `run: %q is missing: mode %s needs it`, key, run.Mode)
		case key != needs && value != "":
			c.warnf(ruleNoEffect, t.KeyPosition("run."+key), "remove it",
				"run: %s has no effect with mode %s", key, run.Mode)
		}
	}
	if run.Mode == "on_github_label" && branch.ConnectedRepo == nil {
		c.errorf(ruleMissingKey, t.Position("run.mode"), "write [connected_repo]",
			"run: [connected_repo] is missing: mode on_github_label needs it")
	}
}
