package appconfig

// The keys of the format, file kind by file kind. A key is in one of four states: it works, it is accepted without effect yet, it
// is a stray that people really write (a warning), or it was rejected by the format itself (an error).

var repoKeys = schema{
	"repo":      must(textShape),
	"directory": must(textShape),
	"branch":    is(textShape), // needed unless repo is "."
}

var (
	repoRule = object(repoKeys)

	// Includes of a second TOML file: nobody uses them.
	includeRule = notYet(textShape)

	operationRolesRule = list(schema{
		"operation": must(textShape),
		"role":      must(textShape),
	}).noEffect()
)

var metadataKeys = schema{
	"version":           must(textShape),
	"display_name":      is(textShape),
	"description":       is(textShape),
	"readme":            is(textShape),
	"slack_webhook_url": notYet(textShape),
	"label_colors":      notYet(mapShape),
	"default_labels":    notYet(mapShape),
	"onboarding": object(schema{ // the vendor's catalogue of example apps
		"enabled":        is(flagShape),
		"category":       is(textShape),
		"cloud_provider": is(textShape),
		"difficulty":     is(textShape),
	}).noEffect(),
}

var varFileRule = list(schema{"contents": must(textShape)})

var terraformKeys = schema{
	"terraform_version": must(textShape),
	"public_repo":       repoRule,
	"connected_repo":    repoRule,
	"vars":              is(mapShape),
	"env_vars":          is(mapShape),
	"var_file":          varFileRule,
	"var":               refusedKey("write a [vars] table"),
	"env_var":           refusedKey("write an [env_vars] table"),
	"max_auto_retries":  is(numberShape),
	"drift_schedule":    notYet(textShape),
	"operation_roles":   operationRolesRule,
	"skip_noops":        notYet(flagShape),
	"source":            includeRule,

	"auto_approve_on_policies_passing": notYet(flagShape),
}

var sandboxKeys = with(terraformKeys, schema{
	"type":          is(textShape),
	"runtime":       notYet(textShape),
	"pulumi_config": notYet(mapShape),
})

var pulumiSandboxKeys = with(sandboxKeys, schema{
	"terraform_version": notYet(textShape),
})

// componentKeys are common to all kinds of component.
var componentKeys = schema{
	"type":               must(textShape),
	"name":               must(textShape),
	"dependencies":       is(textsShape),
	"max_auto_retries":   is(numberShape),
	"var_name":           notYet(textShape),
	"source":             includeRule,
	"skip_noops":         notYet(flagShape),
	"build_timeout":      notYet(spanShape),
	"deploy_timeout":     notYet(spanShape),
	"timeout":            strayKey("write deploy_timeout or build_timeout"),
	"drift_schedule":     notYet(textShape),
	"operation_roles":    operationRolesRule,
	"toggleable":         is(flagShape),
	"default_enabled":    is(flagShape),
	"kubernetes_context": notYet(textShape),
	"labels":             notYet(mapShape),

	"auto_approve_on_policies_passing": notYet(flagShape),
}

var imageKeys = with(componentKeys, schema{
	"public": object(schema{
		"image_url": must(textShape),
		"tag":       must(textShape),
	}),
	"aws_ecr": object(schema{
		"iam_role_arn": must(textShape),
		"region":       must(textShape),
		"image_url":    must(textShape),
		"tag":          must(textShape),
	}),
	"gcp_gar": object(schema{
		"gcp_project_id":             is(textShape),
		"region":                     is(textShape),
		"image_url":                  is(textShape),
		"tag":                        is(textShape),
		"service_account_email":      is(textShape),
		"workload_identity_provider": is(textShape),
	}),
	"device": strayKey("remove it"),
})

// kindJob is known, and refused with a word about what to do instead.
const kindJob = "job"

// componentKinds are the keys of each kind of component.
var componentKinds = map[string]schema{
	KindTerraformModule: with(componentKeys, terraformKeys),
	"helm_chart": with(componentKeys, schema{
		"chart_name":     must(textShape),
		"public_repo":    repoRule,
		"connected_repo": repoRule,
		"helm_repo": object(schema{
			"repo_url": must(textShape),
			"chart":    must(textShape),
			"version":  is(textShape),
		}),
		"namespace":      is(textShape),
		"storage_driver": is(textShape),
		"values":         is(mapShape),
		"value":          refusedKey("write a [values] table"),
		"values_file": list(schema{
			"contents": is(textShape),
			"path":     is(textShape),
			"source":   strayKey("write contents"),
		}),
		"take_ownership": is(flagShape),
	}),
	"container_image": imageKeys,
	"external_image":  imageKeys, // the older name
	"docker_build": with(componentKeys, schema{
		"dockerfile":     must(textShape),
		"public_repo":    repoRule,
		"connected_repo": repoRule,
		"env_vars":       is(mapShape),
		"env_var":        refusedKey("write an [env_vars] table"),
	}),
	"kubernetes_manifest": with(componentKeys, schema{
		"manifest":  is(textShape),
		"namespace": must(textShape),
		"kustomize": object(schema{
			"path":            must(textShape),
			"patches":         is(textsShape),
			"enable_helm":     is(flagShape),
			"load_restrictor": is(textShape),
		}),
		"public_repo":    repoRule,
		"connected_repo": repoRule,
	}),
	"pulumi": with(componentKeys, schema{
		"runtime":        must(textShape),
		"pulumi_version": is(textShape),
		"config":         is(mapShape),
		"env_vars":       is(mapShape),
		"public_repo":    repoRule,
		"connected_repo": repoRule,
	}),
}

var inputGroupKeys = schema{
	"name":         must(textShape),
	"description":  must(textShape),
	"display_name": is(textShape),
	"group":        strayKey("remove it: a group is in no group"),
}

var inputKeys = schema{
	"name":              must(textShape),
	"display_name":      must(textShape),
	"description":       must(textShape),
	"group":             must(textShape),
	"default":           is(textShape),
	"required":          is(flagShape),
	"sensitive":         is(flagShape),
	"type":              is(textShape),
	"internal":          notYet(flagShape),
	"user_configurable": notYet(flagShape),
}

var inputsKeys = schema{
	"group":   list(inputGroupKeys),
	"input":   list(inputKeys),
	"source":  includeRule,
	"sources": notYet(textsShape),
}

var secretKeys = schema{
	"name":                        must(textShape),
	"display_name":                is(textShape),
	"description":                 is(textShape),
	"required":                    is(flagShape),
	"auto_generate":               is(flagShape),
	"format":                      is(textShape),
	"default":                     is(textShape),
	"kubernetes_sync":             is(flagShape),
	"kubernetes_secret_namespace": is(textShape),
	"kubernetes_secret_name":      is(textShape),
	"kubernetes_sync_targets": list(schema{
		"namespaces": is(textsShape),
		"name":       is(textShape),
		"key":        is(textShape),
	}),
	"user_configurable": strayKey("remove it: secrets are always the customer's"),
}

var secretsKeys = schema{"secret": list(secretKeys)}

var actionKeys = schema{
	"name":               must(textShape),
	"description":        is(textShape),
	"timeout":            is(spanShape),
	"triggers":           list(triggerKeys).needed(),
	"steps":              list(stepKeys).needed(),
	"dependencies":       notYet(textsShape),
	"break_glass_role":   notYet(textShape), // also said to be replaced by role
	"role":               notYet(textShape),
	"enable_kube_config": is(flagShape),
	"labels":             notYet(mapShape),
	"kubernetes_context": notYet(textShape),
	"image":              notYet(anyShape),
	"inputs":             list(actionInputKeys),
}

var actionInputKeys = schema{
	"name":        must(textShape),
	"description": is(textShape),
	"type":        is(textShape), // one of actionInputTypes
	"required":    is(flagShape),
	"default":     is(textShape),
	"sensitive":   refusedKey("declare a sensitive input of the app instead: what is asked for with a run is kept and shown as it is"),
}

var triggerKeys = schema{
	"type":           must(textShape),
	"index":          is(numberShape),
	"cron_schedule":  is(textShape),
	"component_name": is(textShape),
	"schedule":       strayKey("write cron_schedule"),
}

var stepKeys = schema{
	"name":               must(textShape),
	"inline_contents":    is(textShape),
	"command":            is(textShape),
	"env_vars":           is(mapShape),
	"public_repo":        repoRule,
	"connected_repo":     repoRule,
	"enable_kube_config": strayKey("write it on the action, not on a step"),
}

var installKeys = schema{
	"name":              must(textShape),
	"approval_option":   is(textShape),
	"allow_destroy":     is(flagShape),
	"inputs":            is(anyShape), // a table or an array of tables
	"aws_account":       object(schema{"region": is(textShape)}),
	"azure_account":     object(schema{"location": is(textShape)}),
	"gcp_account":       object(schema{"project_id": is(textShape), "region": is(textShape)}),
	"labels":            is(mapShape),
	"component_toggles": is(flagsShape),
	"stack_overrides":   notYet(anyShape),
}

var runnerKeys = schema{
	"runner_type":     must(textShape),
	"env_vars":        is(mapShape),
	"helm_driver":     is(textShape),
	"init_script_url": is(textShape),
	"instance_type":   is(textShape),
	"env_var":         refusedKey("write an [env_vars] table"),
	"source":          is(textShape),
}

var stackKeys = schema{
	"type":                       is(textShape),
	"name":                       must(textShape),
	"description":                must(textShape),
	"vpc_nested_template_url":    is(textShape),
	"runner_nested_template_url": is(textShape),
	"custom_nested_stacks": list(schema{
		"name":         must(textShape),
		"template_url": must(textShape),
		"index":        is(numberShape),
		"parameters":   is(mapShape),
	}),
	"deployment_scope": is(textShape),
}

var rolePolicyRule = list(schema{
	"name":                 is(textShape),
	"managed_policy_name":  is(textShape),
	"contents":             is(textShape),
	"gcp_predefined_role":  is(textShape),
	"gcp_permissions":      is(textsShape),
	"azure_built_in_roles": is(textsShape),
	"azure_actions":        is(textsShape),
}).needed()

var roleKeys = schema{
	"name":                 must(textShape),
	"description":          must(textShape),
	"display_name":         is(textShape),
	"permissions_boundary": is(textShape),
	"policies":             rolePolicyRule,
	"cloud_platform":       is(textShape),
	"enabled_in_stack":     is(flagShape),
	"named_policies":       is(anyShape),
}

var policyKeys = schema{
	"type":       must(textShape),
	"engine":     is(textShape),
	"contents":   must(textShape),
	"components": is(textsShape),
	"name":       is(textShape),
}

var runbookKeys = schema{
	"name":        must(textShape),
	"description": is(textShape),
	"readme":      is(textShape),
	"labels":      is(mapShape),
	"steps": list(schema{
		"name":                   must(textShape),
		"type":                   must(textShape),
		"component_name":         is(textShape),
		"deploy_dependents":      is(flagShape),
		"deploy_dependencies":    strayKey("write deploy_dependents"),
		"tear_down_dependents":   is(flagShape),
		"skip_component_deploys": is(flagShape),
		"plan_only":              is(flagShape),
		"action_name":            is(textShape),
		"command":                is(textShape),
		"inline_contents":        is(textShape),
		"env_vars":               is(mapShape),
		"timeout":                is(spanShape),
		"role":                   is(textShape),
		"public_repo":            repoRule,
		"connected_repo":         repoRule,
	}),
	"dependencies": is(textsShape),
	"cells":        is(anyShape),
}

var branchKeys = schema{
	"name":           must(textShape),
	"connected_repo": repoRule,
	"public_repo":    repoRule,
	"install_groups": list(schema{
		"name":           must(textShape),
		"order":          is(numberShape),
		"label_selector": is(mapShape),
		"default":        is(flagShape),

		"auto_approve_on_policies_passing": is(flagShape),
	}),
	"preview": object(schema{
		"mode": is(textShape), "install_id": is(textShape), "install_name": is(textShape),
		"label_selector": is(mapShape), "set_statuses": is(flagShape), "comment": is(flagShape),
		"ignore_drafts": is(flagShape), "react": is(flagShape),
	}),
	"run": object(schema{
		"mode": is(textShape), "tag_prefix": is(textShape), "github_label": is(textShape),
	}),
	"post_deploy_runbooks":    is(textsShape),
	"ignore_changes_regex":    is(textShape),
	"send_statuses_on_ignore": is(flagShape),
}

var installerKeys = schema{
	"name": is(textShape), "description": is(textShape), "slug": is(textShape), "apps": is(textsShape),
	"documentation_url": is(textShape), "community_url": is(textShape), "homepage_url": is(textShape),
	"github_url": is(textShape), "logo_url": is(textShape), "favicon_url": is(textShape),
	"og_image_url": is(textShape), "demo_url": is(textShape), "post_install_markdown": is(textShape),
	"copyright_markdown": is(textShape), "footer_markdown": is(textShape), "source": is(textShape),
}

var inputTypes = []string{"string", "number", "bool", "list", "json", "yaml", "hcl"}

var runbookStepTypes = []string{
	"component_deploy", "deploy", "component_tear_down", "action", "sandbox_reprovision", "sandbox_deprovision",
}

// nuonRoots are the keys below .nuon with the keys below each; nil means that anything may follow. Aliases are not in it: refs
// are canonical.
var nuonRoots = map[string][]string{
	"install":       {"id", "name", "public_domain", "internal_domain", "inputs", "sandbox"},
	"inputs":        {"inputs", "populated"},
	"org":           {"id", "name", "status", "populated"},
	"app":           {"id", "name", "status", "populated", "variables"},
	"sandbox":       {"outputs", "status", "type", "version", "populated", "recent_runs"},
	"components":    nil,
	"actions":       {"workflows", "populated"},
	"secrets":       nil,
	"install_stack": {"outputs", "populated", "status", "checksum", "quick_link_url", "template_url", "template_json"},
	"cloud_account": {"aws", "azure", "gcp"},
	"runner":        {"id", "runner_group_id", "status", "populated"},
	"domain":        {"public_domain", "internal_domain", "populated"},
	"stale_at":      nil,
}

var (
	componentFields = []string{"outputs", "status", "build_id", "component_id", "install_component_id", "name", "populated"}
	actionFields    = []string{"outputs", "id", "status", "populated"}
	secretFields    = []string{"arn", "name", "kubernetes_namespace", "kubernetes_name", "kubernetes_key", "timestamp", "length", "exists"}

	// rootsWithoutValues have no value in an install yet, because what makes them has no effect yet.
	rootsWithoutValues = []string{"install_stack", "cloud_account", "secrets", "domain"}
)
