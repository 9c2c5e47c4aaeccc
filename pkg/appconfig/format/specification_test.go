package format_test

// What each kind has, as the tables of the specification have it, with the paths of nested keys. Kept by
// hand: it is the other side of TestSpecification. Keys that nuon adds are the last ones of a kind.

const (
	repositories = " public_repo public_repo.repo public_repo.directory public_repo.branch connected_repo " +
		"connected_repo.repo connected_repo.directory connected_repo.branch "
	operations = " operation_roles operation_roles.operation operation_roles.role "
	component  = " name type var_name dependencies source max_auto_retries skip_noops auto_approve_on_policies_passing " +
		"build_timeout deploy_timeout timeout drift_schedule" +
		operations + "toggleable default_enabled kubernetes_context labels health "
	role = " name description display_name permissions_boundary policies policies.name policies.managed_policy_name " +
		"policies.contents policies.gcp_predefined_role" +
		" policies.gcp_permissions policies.azure_built_in_roles policies.azure_actions cloud_platform enabled_in_stack " +
		"named_policies "
	group  = " name description display_name group "
	input  = " name display_name description group default required sensitive type internal user_configurable "
	secret = " name display_name description required auto_generate format default kubernetes_sync " +
		"kubernetes_secret_namespace kubernetes_secret_name" +
		" customer_managed address " +
		"kubernetes_sync_targets kubernetes_sync_targets.namespaces kubernetes_sync_targets.name " +
		"kubernetes_sync_targets.key user_configurable "
	policy  = " type engine contents components name "
	context = " name component "
	action  = " name timeout triggers triggers.type triggers.index triggers.cron_schedule triggers.component_name " +
		"triggers.schedule" +
		" steps steps.name steps.inline_contents steps.command steps.env_vars steps.public_repo steps.public_repo.repo " +
		"steps.public_repo.directory steps.public_repo.branch" +
		" steps.connected_repo steps.connected_repo.repo steps.connected_repo.directory steps.connected_repo.branch " +
		"steps.enable_kube_config" +
		" dependencies break_glass_role role enable_kube_config labels kubernetes_context image description inputs " +
		"inputs.name inputs.description inputs.required" +
		" label inputs.type inputs.default inputs.sensitive "
	runbook = " name description readme labels steps dependencies input cells steps.name steps.type " +
		"steps.component_name steps.deploy_dependents steps.tear_down_dependents" +
		" steps.skip_component_deploys steps.plan_only steps.action_name steps.command steps.inline_contents " +
		"steps.env_vars steps.timeout steps.role" +
		" steps.public_repo steps.public_repo.repo steps.public_repo.directory steps.public_repo.branch" +
		" steps.connected_repo steps.connected_repo.repo steps.connected_repo.directory steps.connected_repo.branch "
	install = " name approval_option aws_account aws_account.account_id aws_account.region azure_account " +
		"azure_account.location azure_account.subscription_id azure_account.tenant_id gcp_account " +
		"gcp_account.project_id gcp_account.region inputs labels" +
		" component_toggles components stack_overrides allow_destroy "
	branch = " name install_groups install_groups.name install_groups.order install_groups.label_selector " +
		"install_groups.default install_groups.auto_approve_on_policies_passing" +
		" preview preview.mode preview.install_id preview.install_name preview.label_selector preview.set_statuses " +
		"preview.comment preview.ignore_drafts preview.react" +
		" run run.mode run.tag_prefix run.github_label post_deploy_runbooks ignore_changes_regex send_statuses_on_ignore" +
		repositories
	sandbox = " terraform_version vars var_file var_file.contents env_vars drift_schedule source type runtime " +
		"pulumi_config skip_noops max_auto_retries" +
		" auto_approve_on_policies_passing var env_var" + repositories + operations
	runner = " runner_type env_vars helm_driver init_script_url instance_type env_var source "
	stack  = " type name description vpc_nested_template_url runner_nested_template_url custom_nested_stacks " +
		"custom_nested_stacks.name custom_nested_stacks.template_url" +
		" custom_nested_stacks.index custom_nested_stacks.parameters deployment_scope custom_nested_stacks.digest "
	installer = " name description slug apps documentation_url community_url homepage_url github_url logo_url " +
		"favicon_url og_image_url demo_url post_install_markdown" +
		" copyright_markdown footer_markdown source "
	operationRoles = " type rules rules.principal rules.operation rules.role "
)

var specification = map[string]string{
	"metadata": "version description display_name readme slack_webhook_url label_colors default_labels onboarding " +
		"onboarding.enabled onboarding.category" +
		" onboarding.cloud_provider onboarding.difficulty" +
		" require_mirrored_images", // an addition of nuon
	"sandbox": sandbox, "runner": runner, "stack": stack,
	"inputs": below("group", group) + below("input", input) + " source sources", "input": input, "input-group": group,
	"secrets": below("secret", secret), "secret": secret,
	"permissions": below("provision_role", role) + below("deprovision_role", role) + below("maintenance_role", role),
	"role":        "type" + role,
	"break-glass": below("role", role), "break-glass-role": role,
	"operation-roles":     operationRoles,
	"kubernetes-contexts": below("kubernetes_context", context), "kubernetes-context": context,
	"policies": below("policy", policy), "policy": policy,
	"component": component,
	"terraform": component + repositories + "terraform_version vars env_vars var_file var_file.contents var env_var",
	"helm": component + repositories + "chart_name helm_repo helm_repo.repo_url helm_repo.chart helm_repo.version " +
		"namespace storage_driver values values_file values_file.contents" +
		" values_file.path take_ownership value",
	"container-image": component + "public public.image_url public.tag aws_ecr aws_ecr.iam_role_arn aws_ecr.region " +
		"public.update_policy aws_ecr.update_policy gcp_gar.update_policy aws_ecr.connection verification azure_acr " +
		"azure_acr.image_url azure_acr.registry_url azure_acr.tag azure_acr.update_policy azure_acr.tenant_id " +
		"azure_acr.client_id azure_acr.client_secret_name azure_acr.client_certificate_name " +
		"aws_ecr.image_url aws_ecr.tag gcp_gar gcp_gar.gcp_project_id" +
		" gcp_gar.region gcp_gar.image_url gcp_gar.tag gcp_gar.service_account_email " +
		"gcp_gar.workload_identity_provider device verification.require_signature verification.authorities " +
		"verification.authorities.type verification.authorities.public_key verification.authorities.issuer " +
		"verification.authorities.subject verification.authorities.subject_regexp verification.trusted_root",
	"docker-build": component + repositories + "dockerfile env_vars env_var target build_args platforms secrets",
	"kubernetes-manifest": component + repositories + "manifest namespace kustomize kustomize.path kustomize.patches " +
		"kustomize.enable_helm kustomize.load_restrictor",
	"pulumi": component + repositories + "runtime pulumi_version config env_vars",
	"action": action, "runbook": runbook, "install": install, "installs": repositories, "branch": branch, "triggers": "",
	"installer": installer,
	"full": "version display_name description readme config_vars" + below("inputs", below("group", group)+
		below("input", input)+" source sources") + below("sandbox", sandbox) +
		below("runner", runner) + below("stack", stack) + below("secrets", below("secret", secret)) +
		below("permissions", below("provision_role", role)+below("deprovision_role", role)+below("maintenance_role", role)) +
		below("break_glass", below("role", role)) +
		below("operation_roles", operationRoles) + below("kubernetes_contexts", below("kubernetes_context", context)) +
		below("policies", below("policy", policy)) +
		below("installer", installer) + below("branch", branch) + below("components", component) + below("actions", action) +
		below("runbooks", runbook) + below("installs", install),
}
