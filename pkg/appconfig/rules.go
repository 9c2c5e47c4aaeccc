package appconfig

import (
	"slices"
	"strings"
)

// Rule is one rule that diagnostics of this package and of the policy checkers below pkg/policy
// refer to. Its name is [Diagnostic].Rule.
type Rule struct {
	Name string `json:"name"`
	// Summary states the rule in one sentence.
	Summary string `json:"summary"`
	// Warns is set if violations are harmless: all diagnostics of the rule are warnings.
	Warns bool `json:"warns,omitempty"`
}

// The rules that checks of this package refer to.
const (
	ruleUnknownName     = "unknown-name"
	ruleDuplicateName   = "duplicate-name"
	ruleBadName         = "bad-name"
	ruleReservedName    = "reserved-name"
	ruleListedTwice     = "listed-twice"
	ruleNoEffect        = "no-effect"
	ruleOldName         = "old-name"
	ruleRemovedValue    = "removed-value"
	ruleNoEffectYet     = "no-effect-yet"
	ruleMissingKey      = "missing-key"
	ruleWrongValue      = "wrong-value"
	ruleEmptyList       = "empty-list"
	ruleChooseOne       = "choose-one"
	ruleSelfDependency  = "self-dependency"
	ruleCycle           = "cycle"
	ruleDeployLoop      = "deploy-loop"
	ruleTemplateSyntax  = "template-syntax"
	ruleTemplatePath    = "template-path"
	ruleTemplateScope   = "template-scope"
	ruleUnrendered      = "template-unrendered"
	ruleUndotted        = "template-undotted"
	ruleCloudMismatch   = "cloud-mismatch"
	ruleSecretOptions   = "secret-options"
	ruleSensitive       = "sensitive-in-file"
	ruleRepository      = "repository"
	ruleSubjectAnywhere = "subject-anywhere"
	ruleBranchTip       = "branch-tip"
	ruleVersion         = "exact-version"
	ruleReleaseName     = "release-name"
	ruleReleaseTwice    = "release-twice"
	ruleValuesKey       = "values-key"
	ruleValuesFlag      = "values-flag"
	ruleChartVersion    = "chart-version"
	ruleYAML            = "yaml"
	ruleManifest        = "manifest"
	ruleImageOutside    = "image-outside"
	ruleUnknownRole     = "unknown-role"
	ruleRoleType        = "role-type"
	rulePrincipal       = "principal"
	ruleOperation       = "operation"
	ruleContextKind     = "context-component"
	rulePolicyEngine    = "policy-engine"
	rulePolicyScope     = "policy-components"
	ruleToggle          = "toggle"
	ruleInstallAccount  = "install-account"
	ruleInstallInput    = "install-input"
	ruleInputValue      = "input-value"
	ruleUnattendedInput = "unattended-input"
	ruleTooMany         = "too-many"
	ruleDuplicateIndex  = "duplicate-index"
	ruleLabelColor      = "label-color"
	ruleTrigger         = "trigger"
	ruleSourceDirectory = "source-directory"
	ruleSourceCode      = "source-code"
	ruleInterpreter     = "interpreter"
	ruleModuleVariable  = "module-variable"
	ruleModuleOutput    = "module-output"
)

// rules is the complete list: a diagnostic with another rule is a bug.
var rules = []Rule{
	// Files and syntax.
	{Name: "toml-syntax", Summary: "Every file is valid TOML."},
	{Name: ruleMissingFile,
		Summary: "Every app has a metadata.toml and a sandbox.toml, and every referenced file exists."},
	{Name: ruleUnreadableFile,
		Summary: "Every file is readable, in the config directory and within the size limits."},
	{Name: ruleUnknownFile,
		Summary: "The TOML files at the root of a config directory are those of the format."},
	{Name: ruleBothForms, Summary: "A section is one file or one directory, not both."},
	{Name: ruleInclude,
		Summary: "source names a TOML file of the config directory, and includes do not form a cycle."},
	{Name: ruleRemoteFile,
		Summary: "A remote file can be fetched from a public address, within the limits of size and time."},
	{Name: ruleTooMany, Summary: "The numbers of files, tables, keys and inputs are within the limits."},
	// Keys.
	{Name: "unknown-key", Summary: "Every key is part of the format."},
	{Name: ruleMissingKey, Summary: "Every required key is set and not empty."},
	{Name: "wrong-type", Summary: "Every value has the type of its key."},
	{Name: ruleWrongValue, Summary: "Every value is one of the allowed values of its key."},
	{Name: "unsupported-key", Summary: "A key that is in common use is not part of the format and has no effect.",
		Warns: true},
	{Name: "removed-key", Summary: "A key that was removed from the format is replaced by its newer form."},
	{Name: ruleOldName, Summary: "Keys and values have their current spelling.", Warns: true},
	{Name: ruleRemovedValue, Summary: "A value that was removed from the format has no effect.", Warns: true},
	{Name: ruleNoEffectYet, Summary: "A key or kind of file is accepted, but has no effect yet.", Warns: true},
	{Name: ruleNoEffect, Summary: "A key has no effect in its context.", Warns: true},
	{Name: ruleChooseOne, Summary: "Exactly one of several mutually exclusive keys is set."},
	{Name: ruleEmptyList, Summary: "A required list has an element."},
	{Name: ruleListedTwice, Summary: "A list has no duplicates."},
	{Name: ruleRemovedKind,
		Summary: "A kind of component that was removed from the format is replaced by its newer form."},
	// Formats of values.
	{Name: "duration", Summary: "A time limit is a Go duration of at most one hour."},
	{Name: "cron", Summary: "A schedule has the five standard fields, in UTC, and occurs."},
	{Name: "regexp", Summary: "A regular expression has the syntax of RE2."},
	{Name: ruleSubjectAnywhere, Warns: true,
		Summary: "A regular expression of those who may sign an image starts with ^ and ends with $ or /."},
	{Name: "url", Summary: "A URL has the scheme http or https, a host and no password."},
	{Name: "json", Summary: "JSON text is valid."},
	{Name: ruleYAML, Summary: "YAML text is valid."},
	{Name: ruleVersion, Summary: "A version of Terraform or Pulumi is an exact version."},
	{Name: ruleLabelColor, Summary: "A color has the form #rrggbb."},
	// Names.
	{Name: ruleBadName, Summary: "A name has only characters that its kind allows."},
	{Name: ruleReservedName, Summary: "A name is not reserved."},
	{Name: ruleDuplicateName, Summary: "Names are unique within a kind."},
	{Name: ruleDuplicateIndex, Summary: "Nested stacks have different positions."},
	{Name: ruleUnknownName,
		Summary: "Every referenced component, action, input, group, runbook and context is declared."},
	// Dependencies.
	{Name: ruleSelfDependency, Summary: "Nothing depends on itself."},
	{Name: ruleCycle,
		Summary: "The dependencies of components, listed or through templates, do not form a cycle."},
	{Name: ruleDeployLoop,
		Summary: "A component does not read the outputs of an action that its own deploy starts.", Warns: true},
	{Name: ruleToggle,
		Summary: "Only toggleable components are toggled, and no enabled component needs a disabled one."},
	// Templates.
	{Name: ruleTemplateSyntax, Summary: "A template parses and calls only allowed functions."},
	{Name: ruleTemplatePath, Summary: "A template reads only paths below .nuon that can exist in an install."},
	{Name: ruleTemplateScope, Summary: "A template reads only values that exist when it is rendered."},
	{Name: ruleUnrendered, Summary: "Template expressions occur only in texts that are rendered.", Warns: true},
	{Name: ruleUndotted, Summary: "An expression that reads a value starts with a dot.", Warns: true},
	// Clouds, repositories.
	{Name: ruleCloudMismatch, Summary: "The runner, stack, roles, accounts and templates are for one cloud."},
	{Name: ruleRepository,
		Summary: "A repository has a URL for git clone, a directory below its root and a branch."},
	{Name: ruleBranchTip,
		Summary: "A component in the app's repository follows the branch of the app.", Warns: true},
	// Code in the repository of the config.
	{Name: ruleSourceDirectory, Summary: "The directory of code in the app's repository exists."},
	{Name: ruleSourceCode,
		Summary: "Code in the app's repository is a module, chart or kustomization that can be built without " +
			"network access, or has the program that an action's command names."},
	{Name: ruleInterpreter, Summary: "The first line of an inline script names what runs it.", Warns: true},
	{Name: ruleModuleVariable,
		Summary: "A Terraform module declares every variable in vars, and every required variable is set."},
	{Name: ruleModuleOutput, Summary: "A Terraform module declares every output that a template reads."},
	// Inputs and secrets.
	{Name: ruleInputValue, Summary: "The value of an input has the type of the input."},
	{Name: ruleInstallAccount, Summary: "An install file sets what templates read of the cloud account.", Warns: true},
	{Name: ruleInstallInput, Summary: "An install sets all required inputs, and only declared ones."},
	{Name: ruleSensitive, Summary: "Sensitive values are not in files.", Warns: true},
	{Name: ruleUnattendedInput, Summary: "An action that starts automatically has no required inputs.",
		Warns: true},
	{Name: ruleSecretOptions,
		Summary: "The options of a secret do not contradict each other, and its copies have different destinations."},
	// Roles.
	{Name: ruleUnknownRole, Summary: "Every referenced role is declared in permissions or break_glass."},
	{Name: ruleRoleType, Summary: "Each role type except custom occurs once."},
	{Name: rulePrincipal, Summary: "A principal is nuon::sandbox, nuon::component:NAME or nuon::action:NAME."},
	{Name: ruleOperation, Summary: "An operation exists for its principal."},
	{Name: ruleContextKind,
		Summary: "A Kubernetes context is the cluster of a terraform_module or pulumi component."},
	// Actions.
	{Name: ruleTrigger, Summary: "A trigger has a known type and the keys of that type."},
	// Helm and Kubernetes.
	{Name: ruleReleaseName, Summary: "The name of a Helm release is an RFC 1035 label of 5 to 53 characters."},
	{Name: ruleReleaseTwice, Summary: "Components do not share a Helm release."},
	{Name: ruleValuesKey, Summary: "A key of values has the syntax of helm --set."},
	{Name: ruleValuesFlag, Summary: "true and false in values are not quoted.", Warns: true},
	{Name: ruleChartVersion, Summary: "A chart from a chart repository has a version.", Warns: true},
	{Name: ruleManifest, Summary: "Each document of a manifest has an apiVersion and a kind."},
	{Name: ruleImageOutside,
		Summary: "The images of a manifest come from the customer's registry. Others are errors only with " +
			"require_mirrored_images in metadata.toml, which also denies plans with such images."},
	// Policies.
	{Name: rulePolicyEngine,
		Summary: "The language of a policy matches its engine, and the engine can check its type."},
	{Name: rulePolicyScope, Summary: "A policy names existing components of its type."},
	// The rules of the packages below pkg/policy about policies and policy documents.
	{Name: "policy-size", Summary: "The text of a policy is within the size limit."},
	{Name: "policy-encoding", Summary: "The text of a policy is UTF-8."},
	{Name: "rego-syntax", Summary: "A Rego policy parses as v1 or v0."},
	{Name: "rego-compile", Summary: "A Rego policy compiles."},
	{Name: "rego-v0", Summary: "A Rego policy has the syntax of OPA 1.0.", Warns: true},
	{Name: "rego-package", Summary: "A Rego policy is in package nuon."},
	{Name: "rego-rules", Summary: "A Rego policy has a rule deny, warn or pass that can have a result."},
	{Name: "rego-empty", Summary: "A Rego policy has rules."},
	{Name: "rego-forbidden", Summary: "A Rego policy calls only functions that depend on its input alone."},
	{Name: "rego-not-repeatable",
		Summary: "A Rego policy has the same result each time it evaluates a plan.", Warns: true},
	{Name: "rego-input", Summary: "A Rego policy reads only input that exists for its type.", Warns: true},
	{Name: "rego-data", Summary: "A Rego policy reads no data except its own rules.", Warns: true},
	{Name: "rego-limit", Summary: "A Rego policy is cheap enough to compile."},
	{Name: "kyverno-yaml", Summary: "A Kyverno policy is YAML."},
	{Name: "kyverno-empty", Summary: "A file of Kyverno policies contains a policy."},
	{Name: "kyverno-kind", Summary: "A Kyverno policy has a supported kind and version."},
	{Name: "kyverno-missing", Summary: "A Kyverno policy has all required fields."},
	{Name: "kyverno-shape", Summary: "A value in a Kyverno policy has the type of its field."},
	{Name: "kyverno-value", Summary: "A value in a Kyverno policy is one of the allowed values of its field."},
	{Name: "kyverno-rule", Summary: "A Kyverno rule has exactly one action and a match."},
	{Name: "kyverno-duplicate", Summary: "A Kyverno policy has no duplicates."},
	{Name: "kyverno-limit", Summary: "A Kyverno policy is within the size limits."},
	{Name: "kyverno-unknown-field", Summary: "The fields of a Kyverno policy exist in Kyverno.", Warns: true},
	{Name: "kyverno-not-evaluated",
		Summary: "A Kyverno policy can be evaluated before a deploy, not only in the cluster.", Warns: true},
	{Name: "kyverno-variable",
		Summary: "Variables in a Kyverno policy are closed, named and known.", Warns: true},
	{Name: "json-syntax", Summary: "A policy document is valid JSON."},
	{Name: "json-duplicate", Summary: "A policy document has no duplicate keys."},
	{Name: "iam-version", Summary: "An AWS policy document has a valid version."},
	{Name: "iam-missing", Summary: "An AWS policy document has all required keys."},
	{Name: "iam-shape", Summary: "A value in an AWS policy document has the type of its key."},
	{Name: "iam-unknown-key", Summary: "The keys of an AWS policy document are those of the policy language."},
	{Name: "iam-statement", Summary: "A statement does not have both a key and its opposite."},
	{Name: "iam-effect", Summary: "The effect of a statement is Allow or Deny."},
	{Name: "iam-action", Summary: "An action has the form service:Name."},
	{Name: "iam-resource", Summary: "A resource is an ARN or *."},
	{Name: "iam-principal", Summary: "The policy of a role has no principal."},
	{Name: "iam-condition", Summary: "Conditions use existing operators."},
	{Name: "iam-sid", Summary: "Sids are alphanumeric and unique."},
}

// Rules returns all rules, sorted by name, for tools that show diagnostics. Formats such as SARIF
// list every rule, whether or not it was violated.
func Rules() []Rule {
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}
