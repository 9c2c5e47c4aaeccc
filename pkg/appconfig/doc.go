// Package appconfig owns the app config format: it reads a directory of TOML files into a typed [App], tells everything that is
// wrong with it at once, and gives it the one encoding that is hashed.
//
// It never reaches outside of the directory or to the network, never runs anything and never renders a template. The CLI calls it
// for `nuon validate` and `nuon sync`, the reconciler when a commit changed a config directory.
//
// # The directory
//
// An app is one directory. These files and directories count; everything else is payload that files refer to, or that git holds
// for builds.
//
//	metadata.toml             needed: version, display name, description, readme
//	sandbox.toml              needed: what is made first, before all components
//	inputs.toml               [[group]] and [[input]], or inputs/ and input_groups/
//	components/               one component a file
//	actions/                  one action a file
//	installs/                 one install a file
//	secrets.toml              [[secret]], or secrets/ with one a file
//	runner.toml, stack.toml   read in silence; they change nothing here
//
// Accepted with a warning that they have no effect yet: permissions, policies, break_glass, operation_roles, kubernetes_contexts,
// runbooks, branches, installs.toml, installer.toml and triggers.toml. Any other TOML file at the root is an error. Directories
// are read recursively, and names of files mean nothing: the `name` key does. Keeping both a file and a directory form is an
// error.
//
// # Keys
//
// A number or a bool may stand where a string is wanted, and the string of one where it is wanted. An unknown key is an error
// with the nearest known key. A key of the format that does nothing yet is named in one warning a file. A key that is no part of
// the format but is often written is a warning that says what to write instead.
//
// # Terraform: the sandbox and components
//
//	type              = "terraform_module"   # components only
//	name              = "web"                # lower-case letters, digits, underscores
//	terraform_version = "1.11.4"             # exact
//	dependencies      = ["network"]          # besides those that templates imply
//	max_auto_retries  = 2
//	toggleable        = true                 # an install may switch it on and off
//	default_enabled   = true                 # it is on unless an install switches it off; else off
//
//	[public_repo]                            # or [connected_repo]
//	repo      = "acme/infra"
//	directory = "modules/web"
//	branch    = "main"                       # branch, tag or full commit
//
//	[vars]                                   # Terraform variables, as strings
//	cidr = "{{.nuon.components.network.outputs.cidr}}"
//
//	[env_vars]
//	TF_LOG = "warn"
//
//	[[var_file]]                             # tfvars; later ones win over earlier
//	contents = "./web.tfvars"                # ones, and all of them over [vars]
//
// `repo` is owner/name on GitHub or an https:// or file:// URL. One value is an addition of this project: repo = "." is the
// repository that the app itself lives in, at the very commit that the config was read from. It needs no branch. In every form,
// directory is a path below the root of the repository, also if the config is in a directory of that repository.
//
// Other kinds of component (helm_chart, container_image, docker_build, kubernetes_manifest, pulumi) are checked and take part in
// dependencies, but have no effect yet. A job is refused: actions do that.
//
// # Inputs
//
//	[[group]]
//	name        = "sizing"
//	description = "How big it is"
//
//	[[input]]
//	name         = "replicas"
//	display_name = "Replicas"
//	description  = "How many copies run"
//	group        = "sizing"
//	type         = "number"     # string, number, bool, list, json, yaml, hcl
//	default      = "2"
//	required     = true         # an install cannot do without
//	sensitive    = true         # readable only in the install
//
// # Actions
//
//	name    = "smoke_test"
//	timeout = "2m"              # at most 1h, 5m if left out
//	enable_kube_config = true   # its steps reach the runner's cluster; not if left out
//
//	[[inputs]]
//	name     = "page"
//	type     = "string"         # or number, bool, json
//	required = true             # or a default
//
//	[[triggers]]
//	type           = "post-deploy-component"
//	component_name = "web"
//
//	[[steps]]
//	name            = "check"
//	inline_contents = "./scripts/check.sh"
//
//	[steps.env_vars]
//	URL = "{{.nuon.components.web.outputs.url}}"
//
// What a run is given for an input reaches its steps as NUON_INPUT_PAGE, and as page where no program relies on that name. What a step
// appends to the file NUON_ACTIONS_OUTPUT_FILEPATH, as JSON objects or lines of k=v, are its outputs.
//
// A step has inline_contents, or a command with the repository that holds the program. The triggers that work stand in trigger.go;
// the others are accepted with a warning.
//
// # Installs
//
//	name            = "globex"
//	approval_option = "prompt"  # or "approve-all"
//	allow_destroy   = true      # approve-all then also lets deletes through
//
//	[inputs]
//	replicas = "3"
//
//	[labels]
//	tier = "gold"
//
//	[component_toggles]         # of components that are toggleable
//	cache = true
//
//	[aws_account]               # or azure_account with location, or gcp_account with
//	region = "eu-central-1"     # project_id and region; it never changes
//
// allow_destroy is an addition of this project. Sensitive inputs are not read from files. Installs are no part of the app
// version.
//
// # References to files
//
// `readme`, `inline_contents` and the `contents` of a var_file are either the text itself or, if they are one line that begins
// with ./ or ../, a file. It is looked for beside the file that names it, then where the format has always looked:
// below components/ or actions/ for their files, at the root for others. It must lie in the config directory, and no part of its
// path may be a symbolic link. http://, https://, git:: and file:// references are not supported yet.
//
// # Templates
//
// Values of vars, env_vars, var files, inline_contents and command are templates of package render over `.nuon`. Every path that
// one reads is resolved when the config is loaded:
//
//	.nuon.install.id, .nuon.install.name
//	.nuon.inputs.inputs.<input>                    also .nuon.install.inputs.<input>
//	.nuon.sandbox.outputs.<output>                 also .nuon.install.sandbox.outputs
//	.nuon.components.<component>.outputs.<output>  makes it a dependency
//	.nuon.actions.workflows.<action>.outputs.<key>
//	.nuon.org, .nuon.app                           id, name, status
//
// Reading outputs of a component makes it a dependency; a cycle is an error that prints the path that closes it. The sandbox
// cannot read components, and no component what an action gives that runs because of its own deploy. Secret values never pass through templates, so .nuon.install.secrets is a warning.
//
// # Digests
//
// [App.Digest] names the app version. It does not change with comments, the order
// or spelling of keys, or the names of files. [Component.ConfigDigest] is the part of one component that a deploy uses. Keys
// without effect are no part of either.
package appconfig
