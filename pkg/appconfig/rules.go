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
	ruleRemovedValue    = "gone-value"
	ruleNoEffectYet     = "idle"
	ruleMissingKey      = "missing-key"
	ruleWrongValue      = "wrong-value"
	ruleEmptyList       = "empty-list"
	ruleChooseOne       = "choose-one"
	ruleSelfDependency  = "self-dependency"
	ruleCycle           = "cycle"
	ruleDeployLoop      = "echo"
	ruleTemplateSyntax  = "template-syntax"
	ruleTemplatePath    = "template-path"
	ruleTemplateScope   = "template-scope"
	ruleUnrendered      = "template-unrendered"
	ruleUndotted        = "template-undotted"
	ruleSecretValue     = "secret-value"
	ruleCloudMismatch   = "cloud-mismatch"
	ruleSecretOptions   = "secret-options"
	ruleSensitive       = "sensitive-in-file"
	ruleRepository      = "repository"
	ruleBranchTip       = "branch-tip"
	ruleVersion         = "exact-version"
	ruleReleaseName     = "release-name"
	ruleReleaseTwice    = "release-twice"
	ruleValuesKey       = "values-key"
	ruleValuesFlag      = "values-flag"
	ruleChartVersion    = "chart-version"
	ruleYAML            = "yaml"
	ruleManifest        = "manifest"
	ruleUnknownRole     = "unknown-role"
	ruleRoleType        = "role-type"
	rulePrincipal       = "principal"
	ruleOperation       = "operation"
	ruleContextKind     = "context-component"
	rulePolicyEngine    = "policy-engine"
	rulePolicyScope     = "policy-components"
	ruleToggle          = "toggle"
	ruleInstallInput    = "install-input"
	ruleInputValue      = "input-value"
	ruleUnattendedInput = "unattended-input"
	ruleTooMany         = "too-many"
	ruleDuplicateIndex  = "duplicate-index"
	ruleLabelColor      = "label-color"
	ruleTrigger         = "trigger"
	ruleSourceDirectory = "source-directory"
	ruleSourceCode      = "source-code"
	ruleModuleVariable  = "module-variable"
	ruleModuleOutput    = "module-output"
)

// rules is the complete list: a diagnostic with another rule is a bug.
var rules = []Rule{
	// Files and syntax.
	{Name: "toml-syntax", Summary: "A file is TOML."},
	{Name: ruleMissingFile,
		Summary: "Every app has a metadata.toml and a sandbox.toml, and every file that is referred to is there."},
	{Name: ruleUnreadableFile,
		Summary: "A file can be read, lies in the config directory and is within the limits of size."},
	{Name: ruleUnknownFile, Summary: "TOML files at the root of a config directory are those of the format."},
	{Name: ruleBothForms, Summary: "A section is one file or one directory, not both."},
	{Name: ruleInclude, Summary: "What source names is a TOML file of the config directory, and includes end."},
	{Name: ruleRemoteFile,
		Summary: "A file elsewhere can be fetched, from a public address, within the limits of size and time."},
	{Name: ruleTooMany, Summary: "Nothing is more than an app can need: files, tables, keys, inputs."},
	// Keys.
	{Name: "unknown-key", Summary: "Keys are those of the format."},
	{Name: ruleMissingKey, Summary: "A key that is needed is there and not empty."},
	{Name: "wrong-type", Summary: "A value has the shape that its key wants."},
	{Name: ruleWrongValue, Summary: "A value is one of those that its key has."},
	{Name: "stray-key", Summary: "A key that people often write is no part of the format and has no effect.",
		Warns: true},
	{Name: "gone-key", Summary: "A key that the format once had is written in its newer form."},
	{Name: ruleOldName, Summary: "Keys and values are written in their newer spelling.", Warns: true},
	{Name: ruleRemovedValue, Summary: "A value that the format once had does nothing any more.", Warns: true},
	{Name: ruleNoEffectYet, Summary: "A key or kind of file is accepted, and nothing acts on it yet.", Warns: true},
	{Name: ruleNoEffect, Summary: "A key says something where it means nothing.", Warns: true},
	{Name: ruleChooseOne, Summary: "Of keys that exclude each other exactly one is there."},
	{Name: ruleEmptyList, Summary: "A list that is needed has an element."},
	{Name: ruleListedTwice, Summary: "A list names nothing twice."},
	{Name: ruleRemovedKind, Summary: "A kind of component that the format once had is written as what took its place."},
	// Formats of values.
	{Name: "duration", Summary: "A time limit is a Go duration of at most an hour."},
	{Name: "cron", Summary: "A schedule has the five standard fields, in UTC, and comes some day."},
	{Name: "regexp", Summary: "A regular expression is one of RE2."},
	{Name: "url", Summary: "An address is http or https, has a host and no password."},
	{Name: "json", Summary: "What is JSON parses as JSON."},
	{Name: ruleYAML, Summary: "What is YAML parses as YAML."},
	{Name: ruleVersion, Summary: "A version of Terraform or Pulumi is one exact version."},
	{Name: ruleLabelColor, Summary: "A colour is written as #rrggbb."},
	// Names.
	{Name: ruleBadName, Summary: "A name has the letters that names of its kind may have."},
	{Name: ruleReservedName, Summary: "A name does not mean something else already."},
	{Name: ruleDuplicateName, Summary: "No two things of a kind have one name."},
	{Name: ruleDuplicateIndex, Summary: "No two nested stacks have one place in the order."},
	{Name: ruleUnknownName,
		Summary: "What is named is declared: components, actions, inputs, groups, runbooks, contexts."},
	// Dependencies.
	{Name: ruleSelfDependency, Summary: "Nothing depends on itself."},
	{Name: ruleCycle,
		Summary: "Components do not depend on each other in a circle, listed or by what their templates read."},
	{Name: ruleDeployLoop,
		Summary: "A component does not read what an action gives that runs because the component is deployed.", Warns: true},
	{Name: ruleToggle, Summary: "What can be switched off is said to be, and what is on needs nothing that is off."},
	// Templates.
	{Name: ruleTemplateSyntax, Summary: "A template parses and calls allowed functions only."},
	{Name: ruleTemplatePath, Summary: "What a template reads below .nuon can exist in an install."},
	{Name: ruleTemplateScope, Summary: "What a template reads is there when the template is rendered."},
	{Name: ruleUnrendered, Summary: "Template expressions stand in texts that are rendered.", Warns: true},
	{Name: ruleUndotted, Summary: "An expression that should read a value begins with a dot.", Warns: true},
	{Name: ruleSecretValue, Summary: "Secret values never pass through templates.", Warns: true},
	// Clouds, repositories.
	{Name: ruleCloudMismatch, Summary: "Runner, stack, roles, accounts and templates are of one cloud."},
	{Name: ruleRepository,
		Summary: "A repository is an address that can be cloned, with a directory below its root and a branch."},
	{Name: ruleBranchTip,
		Summary: "A component of the app's own repository follows the branch that the app itself is on.", Warns: true},
	// Code in the repository of the config.
	{Name: ruleSourceDirectory, Summary: "The directory of code in the app's own repository exists."},
	{Name: ruleSourceCode,
		Summary: "Code in the app's own repository is a module, chart or kustomization that a build can read without fetching."},
	{Name: ruleModuleVariable,
		Summary: "A Terraform module has each variable that vars sets, and gets each one that has no default."},
	{Name: ruleModuleOutput, Summary: "An output that a template reads is one of the Terraform module."},
	// Inputs and secrets.
	{Name: ruleInputValue, Summary: "The value of an input has the input's type."},
	{Name: ruleInstallInput, Summary: "An install gives the inputs that it must, and only those that there are."},
	{Name: ruleSensitive, Summary: "Sensitive values are not kept in files.", Warns: true},
	{Name: ruleUnattendedInput, Summary: "An action that runs by itself needs nobody to give it an input.",
		Warns: true},
	{Name: ruleSecretOptions,
		Summary: "The options of a secret do not contradict each other, and no two copies go to one place."},
	// Roles.
	{Name: ruleUnknownRole, Summary: "A role that is named is declared in permissions or break_glass."},
	{Name: ruleRoleType, Summary: "There is one role of each type, but for custom."},
	{Name: rulePrincipal, Summary: "A principal is nuon::sandbox, nuon::component:NAME or nuon::action:NAME."},
	{Name: ruleOperation, Summary: "An operation is one that its principal has."},
	{Name: ruleContextKind, Summary: "A Kubernetes context is the cluster of a terraform_module or pulumi component."},
	// Actions.
	{Name: ruleTrigger, Summary: "A trigger is of a type that there is, with the keys of that type."},
	// Helm and Kubernetes.
	{Name: ruleReleaseName, Summary: "The name of a Helm release is an RFC 1035 label of 5 to 53 characters."},
	{Name: ruleReleaseTwice, Summary: "No two components are one Helm release in one namespace."},
	{Name: ruleValuesKey, Summary: "A key of values is written as for helm --set."},
	{Name: ruleValuesFlag, Summary: "True and false among values are written without quotes.", Warns: true},
	{Name: ruleChartVersion, Summary: "A chart from a chart repository is named with its version.", Warns: true},
	{Name: ruleManifest, Summary: "Each document of a manifest has an apiVersion and a kind."},
	// Policies.
	{Name: rulePolicyEngine,
		Summary: "A policy is written in the language of its engine, and the engine fits what is checked."},
	{Name: rulePolicyScope, Summary: "A policy names the components that it checks, which are of its kind."},
	// The rules of the packages below pkg/policy about policies and policy documents.
	{Name: "policy-size", Summary: "The text of a policy is not longer than a policy can need to be."},
	{Name: "policy-encoding", Summary: "The text of a policy is UTF-8."},
	{Name: "rego-syntax", Summary: "A policy in Rego parses, as v1 or else as v0."},
	{Name: "rego-compile", Summary: "A policy in Rego compiles."},
	{Name: "rego-v0", Summary: "A policy is written in the language as it is since OPA 1.0.", Warns: true},
	{Name: "rego-package", Summary: "A policy in Rego is in package nuon, whose rules are read."},
	{Name: "rego-rules", Summary: "A policy has a rule deny, warn or pass that can say something."},
	{Name: "rego-empty", Summary: "A policy says something."},
	{Name: "rego-forbidden", Summary: "A policy sees its input and nothing else."},
	{Name: "rego-not-repeatable", Summary: "A policy gives one answer to one plan.", Warns: true},
	{Name: "rego-input", Summary: "A policy reads what there is to see for its type.", Warns: true},
	{Name: "rego-data", Summary: "A policy reads its own rules and no other data.", Warns: true},
	{Name: "rego-limit", Summary: "A policy can be compiled in a moment."},
	{Name: "kyverno-yaml", Summary: "A policy of Kyverno is YAML."},
	{Name: "kyverno-empty", Summary: "A text of policies has a policy in it."},
	{Name: "kyverno-kind", Summary: "A policy of Kyverno is of a kind and version that Kyverno has."},
	{Name: "kyverno-missing", Summary: "A policy of Kyverno has all that it needs."},
	{Name: "kyverno-shape", Summary: "A value in a policy of Kyverno has the shape that its field wants."},
	{Name: "kyverno-value", Summary: "A value in a policy of Kyverno is one of those that its field has."},
	{Name: "kyverno-rule", Summary: "A rule of Kyverno does exactly one thing, and says to what."},
	{Name: "kyverno-duplicate", Summary: "Nothing in a policy of Kyverno is there twice."},
	{Name: "kyverno-limit", Summary: "A policy of Kyverno can be read in a moment."},
	{Name: "kyverno-unknown-field", Summary: "Fields of a policy of Kyverno are those that Kyverno has.", Warns: true},
	{Name: "kyverno-not-evaluated",
		Summary: "All of a policy of Kyverno is evaluated before a deploy, and not by the cluster alone.", Warns: true},
	{Name: "kyverno-variable", Summary: "Variables of Kyverno are closed, named and known.", Warns: true},
	{Name: "json-syntax", Summary: "A policy document is JSON."},
	{Name: "json-duplicate", Summary: "No key of a policy document is there twice."},
	{Name: "iam-version", Summary: "A policy document on AWS is of a version of the policy language that there is."},
	{Name: "iam-missing", Summary: "A policy document on AWS has all that it needs."},
	{Name: "iam-shape", Summary: "A value in a policy document on AWS has the shape that its key wants."},
	{Name: "iam-unknown-key", Summary: "Keys of a policy document on AWS are those of the policy language."},
	{Name: "iam-statement", Summary: "A statement has a key or its opposite, not both."},
	{Name: "iam-effect", Summary: "The effect of a statement is Allow or Deny."},
	{Name: "iam-action", Summary: "An action is written service:Name."},
	{Name: "iam-resource", Summary: "A resource is an ARN or *."},
	{Name: "iam-principal", Summary: "The policy of a role names no principal."},
	{Name: "iam-condition", Summary: "Conditions use operators that there are."},
	{Name: "iam-sid", Summary: "Sids are plain texts, each there once."},
}

// Rules returns all rules, sorted by name, for tools that show diagnostics. Formats such as SARIF
// list every rule, whether or not it was violated.
func Rules() []Rule {
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}
