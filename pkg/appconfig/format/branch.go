package format

// Branch is branch.toml, or a file below branches/: a line of the app's repository that is rolled out by rule.
type Branch struct {
	// Name.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"stable"`
	Repositories
	// Waves of a roll-out.
	InstallGroups []InstallGroup `toml:"install_groups" json:"install_groups,omitempty" config:"sorted=name"`
	// What happens on a pull request.
	Preview *Preview `toml:"preview" json:"preview,omitempty"`
	// What starts a run.
	Run *BranchRun `toml:"run" json:"run,omitempty"`
	// Runbooks that follow on each install, in this order.
	PostDeployRunbooks []string `toml:"post_deploy_runbooks" json:"post_deploy_runbooks,omitempty" example:"roll_forward"`
	// Leave a run out when all changed paths match.
	IgnoreChangesRegex string `toml:"ignore_changes_regex" json:"ignore_changes_regex,omitempty" config:"regexp" example:"^docs/"`
	// Report a status also for what was left out.
	SendStatusesOnIgnore bool `toml:"send_statuses_on_ignore" json:"send_statuses_on_ignore,omitempty"`
}

// InstallGroup is one wave.
type InstallGroup struct {
	// Name; no two groups have the same.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"canary"`
	// Place among the waves; low ones come first.
	Order int `toml:"order" json:"order,omitempty"`
	// Labels of the installs in it. Either this or default.
	LabelSelector map[string]string `toml:"label_selector" json:"label_selector,omitempty" example:"ring=0"`
	// It takes the installs that no other wave takes. At most one does.
	Default bool `toml:"default" json:"default,omitempty"`
	// Approve by rule when all policies pass.
	AutoApproveOnPoliciesPassing bool `toml:"auto_approve_on_policies_passing" json:"auto_approve_on_policies_passing,omitempty"`
}

// Preview is what happens on a pull request. All but none and build-only name the install, or installs, to try it with.
type Preview struct {
	// How far it goes.
	Mode string `toml:"mode" json:"mode,omitempty" config:"one=plan-only|none|apply|build-only,default=plan-only"`
	// Id of the install.
	InstallID string `toml:"install_id" json:"install_id,omitempty" example:"ins_01"`
	// Name of the install.
	InstallName string `toml:"install_name" json:"install_name,omitempty" example:"staging"`
	// Labels of the installs.
	LabelSelector map[string]string `toml:"label_selector" json:"label_selector,omitempty" example:"ring=preview"`
	// Report a status to the code host.
	SetStatuses *bool `toml:"set_statuses" json:"set_statuses,omitempty"`
	// Write a comment.
	Comment *bool `toml:"comment" json:"comment,omitempty"`
	// Leave drafts alone.
	IgnoreDrafts *bool `toml:"ignore_drafts" json:"ignore_drafts,omitempty" config:"default=true"`
	// React to comments.
	React *bool `toml:"react" json:"react,omitempty" config:"default=true"`
}

// BranchRun is what starts a run.
type BranchRun struct {
	// The occasion.
	Mode string `toml:"mode" json:"mode,omitempty" config:"one=push|on_tag|on_github_label|manual_only,default=push" values:"all=push,on_tag_prefix=on_tag"`
	// What tags must begin with; needed with on_tag.
	TagPrefix string `toml:"tag_prefix" json:"tag_prefix,omitempty" example:"v"`
	// The label; needed with on_github_label, which also needs a connected_repo.
	GithubLabel string `toml:"github_label" json:"github_label,omitempty" example:"preview"`
}
