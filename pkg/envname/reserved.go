package envname

// reservedGroup is a set of reserved names with one reason.
type reservedGroup struct {
	why, instead string
	names        []string
	prefixes     []string
}

const (
	anotherName = "choose another name, and use the value in the script"
	ofTheOwner  = "the runner's owner sets it for the runner, and passes it on with runnerd run --pass-env where that " +
		"is needed"
)

// locations are variables that select a region, zone or project in the cloud of the runner's identity.
// Real apps set them for their scripts. They do not lead to another server if the value has the
// form of a region, zone or project name.
var locations = []string{
	"AWS_REGION", "AWS_DEFAULT_REGION", "GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GOOGLE_REGION", "GOOGLE_ZONE",
	"CLOUDSDK_CORE_PROJECT", "CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE", "ARM_SUBSCRIPTION_ID",
	"AZURE_SUBSCRIPTION_ID",
}

// settable are names with a reserved prefix that no program acts on, or that select something safe.
// Real apps use them.
var settable = append([]string{
	"AWS_ACCOUNT_ID", "AWS_DEFAULT_OUTPUT", "AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME",
	"GIT_BRANCH", "GIT_COMMIT", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "GIT_REF", "GIT_REPO", "GIT_REPOSITORY",
	"GIT_SHA", "GIT_TAG", "GIT_USER_EMAIL", "GIT_USER_NAME", "HELM_CHART", "HELM_RELEASE", "JAVA_VERSION",
	"KUBE_NAMESPACE", "KUBERNETES_NAMESPACE", "KUBERNETES_VERSION", "PYTHON_VERSION", "RUBY_VERSION",
}, locations...)

// groups is the list of reserved names. A family whose names are all known (node's, ssh's) is
// listed by name, so that NODE_SECURITY_GROUP_ID and SSH_USER remain allowed; one that grows
// (git's, Python's) is listed by prefix.
var groups = []reservedGroup{
	{
		why: "the runner sets it", instead: anotherName,
		names: []string{"COMPONENT_ID", "COMPONENT_NAME", "CHECKPOINT_DISABLE", "KUBERNETES_EXEC_INFO",
			"TMPDIR", "TRIGGER_TYPE"},
		prefixes: []string{"NUON_"},
	},
	{
		why:      "it changes how Terraform runs",
		instead:  "set a variable of the module in vars; the runner sets the rest itself",
		prefixes: []string{"TF_", "TERRAGRUNT_", "TOFU_"},
	},
	{
		why: "programs, files and shells are found by it", instead: anotherName,
		names: []string{
			"_", "CDPATH", "COMSPEC", "FPATH", "HOME", "LOGNAME", "MANPATH", "MODULE_PATH", "OLDPWD", "PATH", "PWD",
			"SHELL", "SUDO_USER", "TEMP", "TMP", "USER", "ZDOTDIR",
		},
		prefixes: []string{"XDG_"},
	},
	{
		why: "a shell runs or splits commands by it", instead: anotherName,
		names: []string{
			"ENV", "EXECIGNORE", "GLOBIGNORE", "HISTFILE", "IFS", "INPUTRC", "KSH_ENV", "MAIL", "MAILPATH",
			"POSIXLY_CORRECT", "PROMPT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4", "SHELLOPTS", "SHINIT",
		},
		prefixes: []string{"BASH"}, // BASH_ENV, BASH_FUNC_…, BASHOPTS
	},
	{
		why: "the system's libraries load code or files by it", instead: anotherName,
		names: []string{
			"GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LIBPATH", "LOCALDOMAIN", "LOCPATH",
			"NIS_PATH", "NLSPATH", "OUTPUT_CHARSET", "RESOLV_HOST_CONF", "RES_OPTIONS", "SHLIB_PATH", "TERMCAP",
			"TERMINFO", "TERMINFO_DIRS", "TEXTDOMAINDIR", "TZDIR",
		},
		prefixes: []string{"DYLD_", "LD_", "MALLOC_"},
	},
	{
		why: "an interpreter or a runtime loads code by it", instead: anotherName,
		names: []string{
			"ANT_OPTS", "AWKLIBPATH", "AWKPATH", "BUNDLE_GEMFILE", "CATALINA_OPTS", "CLASSPATH", "ERL_AFLAGS",
			"ERL_FLAGS", "ERL_LIBS", "ERL_ZFLAGS", "GEM_HOME", "GEM_PATH", "GOCOVERDIR", "GODEBUG", "GOENV", "GOFLAGS",
			"GOINSECURE", "GONOSUMDB", "GOPATH", "GOPROXY", "GOROOT", "GOTOOLCHAIN", "GRADLE_OPTS", "GUILE_LOAD_PATH",
			"IRBRC", "JDK_JAVAC_OPTIONS", "JULIA_LOAD_PATH", "MAKEFILES", "MAKEFLAGS", "MAVEN_OPTS", "PERLLIB", "PHPRC",
			"PHP_INI_SCAN_DIR", "PSMODULEPATH", "R_ENVIRON", "R_ENVIRON_USER", "R_PROFILE", "R_PROFILE_USER",
			"SBT_OPTS", "TCLLIBPATH", "VIRTUAL_ENV", "_JAVA_OPTIONS", "NODE_CHANNEL_FD", "NODE_COMPILE_CACHE",
			"NODE_EXTRA_CA_CERTS", "NODE_ICU_DATA", "NODE_OPTIONS", "NODE_PATH", "NODE_REDIRECT_WARNINGS",
			"NODE_REPL_EXTERNAL_MODULE", "NODE_REPL_HISTORY", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_USE_ENV_PROXY",
			"NODE_V8_COVERAGE", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES",
		},
		prefixes: []string{
			"BUN_", "CARGO_", "COMPLUS_", "CORECLR_", "COR_", "DENO_", "DOTNET_", "JAVA_", "JDK_", "LUA_", "PERL5",
			"PYTHON", "RUBY", "RUSTC", "RUSTUP_",
		},
	},
	{
		why: "a package manager fetches or runs code by it", instead: anotherName,
		names:    []string{"PIPENV_PYPI_MIRROR"},
		prefixes: []string{"BUNDLE_", "COMPOSER_", "CONDA_", "NPM_", "PIP_", "PNPM_", "POETRY_", "UV_", "YARN_"},
	},
	{
		why: "other programs start a program that it names", instead: anotherName,
		names: []string{
			"ANSIBLE_CONFIG", "BROWSER", "CVS_RSH", "EDITOR", "FCEDIT", "GPG_AGENT_INFO", "LESS", "LESSCLOSE",
			"LESSEDIT", "LESSKEY", "LESSKEYIN", "LESSKEY_SYSTEM", "LESSOPEN", "MANOPT", "MANPAGER", "PAGER",
			"RSYNC_CONNECT_PROG", "RSYNC_RSH", "SUDO_ASKPASS", "SUDO_EDITOR", "SVN_SSH", "SYSTEMD_EDITOR",
			"SYSTEMD_PAGER", "TAR_OPTIONS", "TAR_RSH", "VISUAL",
		},
	},
	{
		why:      "git runs commands and finds its servers by it",
		instead:  "give git its settings in the script, with git -c",
		prefixes: []string{"GIT_"},
	},
	{
		why:     "ssh and gpg find their keys and helpers by it",
		instead: "give ssh its settings in the script, with ssh -o",
		names: []string{
			"GNUPGHOME", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_AUTH_SOCK", "SSH_HOME",
			"SSH_ORIGINAL_COMMAND", "SSH_PKCS11_HELPER", "SSH_SK_HELPER", "SSH_SK_PROVIDER",
		},
	},
	{
		why: "connections go elsewhere, or trust somebody else, by it", instead: ofTheOwner,
		names: []string{
			"ALL_PROXY", "CURL_CA_BUNDLE", "CURL_HOME", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NETRC", "NO_PROXY",
			"REQUESTS_CA_BUNDLE", "RSYNC_PROXY", "SSLKEYLOGFILE", "SYSTEM_WGETRC", "WGETRC",
		},
		prefixes: []string{"KRB5", "SSL_"},
	},
	{
		why:      "programs find their cluster and its credentials by it",
		instead:  "let the action set enable_kube_config, or name a kubernetes_context",
		names:    []string{"KUBECONFIG", "KUBERC"},
		prefixes: []string{"HELM_", "KUBECTL_", "KUBE_", "KUBERNETES_", "KUSTOMIZE_"},
	},
	{
		why: "a cloud's clients choose an identity or an endpoint by it", instead: ofTheOwner,
		names: []string{"BOTO_CONFIG", "BOTO_PATH", "GCE_METADATA_HOST", "GCE_METADATA_IP",
			"GCE_METADATA_ROOT", "NO_GCE_CHECK"},
		prefixes: []string{"ARM_", "AWS_", "AZURE_", "CLOUDSDK_", "ECS_CONTAINER_METADATA_", "GOOGLE_",
			"IDENTITY_", "IMDS_", "MSI_"},
	},
	{
		why: "containers are started elsewhere by it", instead: ofTheOwner,
		names:    []string{"BUILDKIT_HOST", "CONTAINERS_CONF", "CONTAINER_HOST", "REGISTRY_AUTH_FILE"},
		prefixes: []string{"BUILDAH_", "DOCKER_", "PODMAN_"},
	},
	{
		why: "it changes how Pulumi runs", instead: "set the program's configuration in pulumi_config",
		prefixes: []string{"PULUMI_"},
	},
}
