package format

// Branch is branch.toml, or a file below branches/: a branch of the app's repository that is rolled
// out automatically.
type Branch struct {
	// Name.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"stable"`
	Repositories
	// Waves of a rollout.
	InstallGroups []InstallGroup `toml:"install_groups" json:"install_groups,omitempty" config:"sorted=name"`
	// What happens on a pull request.
	Preview *Preview `toml:"preview" json:"preview,omitempty"`
	// What starts a run.
	Run *BranchRun `toml:"run" json:"run,omitempty"`
	// Runbooks that run on each install after the deploy, in this order.
	PostDeployRunbooks []string `toml:"post_deploy_runbooks" json:"post_deploy_runbooks,omitempty" example:"roll_forward"`
	// Skip a run if all changed paths match.
	IgnoreChangesRegex string `toml:"ignore_changes_regex" json:"ignore_changes_regex,omitempty" config:"regexp" example:"^docs/"`
	// Report a status for skipped runs too.
	SendStatusesOnIgnore bool `toml:"send_statuses_on_ignore" json:"send_statuses_on_ignore,omitempty"`
}

// InstallGroup is one wave of a rollout.
type InstallGroup struct {
	// Name, which must be unique among the groups.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"canary"`
	// Position among the waves; lower numbers come first.
	Order int `toml:"order" json:"order,omitempty"`
	// Labels of the installs in the wave. Set this or default.
	LabelSelector map[string]string `toml:"label_selector" json:"label_selector,omitempty" example:"ring=0"`
	// The wave contains the installs that no other wave selects. At most one wave can be the
	// default.
	Default bool `toml:"default" json:"default,omitempty"`
	// Approve automatically if all policies pass.
	AutoApproveOnPoliciesPassing bool `toml:"auto_approve_on_policies_passing" json:"auto_approve_on_policies_passing,omitempty"`
}

// Preview is what happens on a pull request. All modes except none and build-only require the
// install, or the labels of the installs, to preview.
type Preview struct {
	// Last stage of the preview.
	Mode string `toml:"mode" json:"mode,omitempty" config:"one=plan-only|none|apply|build-only,default=plan-only"`
	// ID of the install.
	InstallID string `toml:"install_id" json:"install_id,omitempty" example:"ins_01"`
	// Name of the install.
	InstallName string `toml:"install_name" json:"install_name,omitempty" example:"staging"`
	// Labels of the installs.
	LabelSelector map[string]string `toml:"label_selector" json:"label_selector,omitempty" example:"ring=preview"`
	// Report a status to the code host.
	SetStatuses *bool `toml:"set_statuses" json:"set_statuses,omitempty"`
	// Write a comment.
	Comment *bool `toml:"comment" json:"comment,omitempty"`
	// Ignore draft pull requests.
	IgnoreDrafts *bool `toml:"ignore_drafts" json:"ignore_drafts,omitempty" config:"default=true"`
	// React to comments.
	React *bool `toml:"react" json:"react,omitempty" config:"default=true"`
}

// BranchRun is the event that starts a run.
type BranchRun struct {
	// The event.
	Mode string `toml:"mode" json:"mode,omitempty" config:"one=push|on_tag|on_github_label|manual_only,default=push" values:"all=push,on_tag_prefix=on_tag"`
	// Required prefix of tags; required with on_tag.
	TagPrefix string `toml:"tag_prefix" json:"tag_prefix,omitempty" example:"v"`
	// The label; required with on_github_label, which also requires a connected_repo.
	GithubLabel string `toml:"github_label" json:"github_label,omitempty" example:"preview"`
}
