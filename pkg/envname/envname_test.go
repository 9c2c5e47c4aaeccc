package envname

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// In some program that runners start, each of these gave its author another program, server or
// identity.
func TestReserved(t *testing.T) {
	for _, name := range []string{
		"PATH", "path", "Home", "SHELL", "IFS", "ENV", "BASH_ENV", "BASH_FUNC_ls", "BASHOPTS", "SHELLOPTS", "PS4",
		"PROMPT_COMMAND", "LD_PRELOAD", "ld_library_path", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES",
		"GCONV_PATH", "LOCPATH", "MALLOC_TRACE", "PYTHONPATH", "PYTHONSTARTUP", "PYTHON_PRESITE", "PERL5OPT",
		"PERL5LIB", "PERLLIB", "RUBYOPT", "RUBYLIB", "GEM_HOME", "NODE_OPTIONS", "NODE_PATH", "npm_config_node_options",
		"NPM_CONFIG_USERCONFIG", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "DOTNET_STARTUP_HOOKS",
		"LUA_INIT_5_4", "GOFLAGS", "PIP_INDEX_URL", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_CONFIG_COUNT",
		"GIT_CONFIG_KEY_0", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_TRACE", "SSH_ASKPASS", "SSH_AUTH_SOCK",
		"EDITOR", "VISUAL", "PAGER", "LESSOPEN", "MANPAGER", "BROWSER", "CURL_HOME", "http_proxy", "HTTPS_PROXY",
		"no_proxy", "all_proxy", "SSL_CERT_FILE", "SSLKEYLOGFILE", "TF_CLI_ARGS", "TF_LOG_PATH", "TF_VAR_x",
		"TF_REATTACH_PROVIDERS", "TF_HTTP_ADDRESS", "TF_PLUGIN_CACHE_DIR", "TF_DATA_DIR", "KUBECONFIG", "KUBE_TOKEN",
		"KUBERNETES_SERVICE_HOST", "KUBECTL_EXTERNAL_DIFF", "HELM_PLUGINS", "AWS_PROFILE", "AWS_CONFIG_FILE",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS", "AWS_ACCESS_KEY_ID", "AWS_PAGER", "AZURE_AUTHORITY_HOST",
		"ARM_CLIENT_SECRET", "ARM_METADATA_HOSTNAME", "GOOGLE_APPLICATION_CREDENTIALS",
		"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "CLOUDSDK_CONFIG", "CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER",
		"GCE_METADATA_HOST", "MSI_ENDPOINT", "IDENTITY_ENDPOINT", "NUON_ATTEMPT", "NUON_INPUT_X", "nuon_job", "TMPDIR",
		"XDG_CONFIG_HOME", "OPENSSL_CONF", "DOCKER_HOST", "PULUMI_CONFIG_PASSPHRASE",
	} {
		if err := Check(name); err == nil || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), ";") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// These occur in configs of real apps, or are harmless although similar to a reserved name.
func TestFree(t *testing.T) {
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "CLUSTER_NAME", "COMMAND", "DB_HOST", "GIT_USER_EMAIL", "GIT_USER_NAME",
		"GOOGLE_PROJECT", "INSTALL_ID", "KIND", "LANG", "LC_ALL", "NAME", "NAMESPACE", "NODE_ENV",
		"NODE_SECURITY_GROUP_ID", "OS", "PROJECT_ID", "REGION", "RUNNER_AUTH_METHOD", "SSH_HOSTNAME", "SSH_PUBLIC_KEY",
		"SSH_USER", "TERM", "TZ", "_x", "a1", "component", "package_name", "ssh_public_key", "worker_count", "PATHS",
		"HOMEPAGE", "TFSTATE", "LDAP_URL", "DATADOG_HOST",
	} {
		if err := Check(name); err != nil {
			t.Error(err)
		}
	}
}

func TestNoName(t *testing.T) {
	for _, name := range []string{"", "A=B", "1A", "A-B", "A B", "A\x00", "BASH_FUNC_x%%", "Ä", "A\n", "A.B"} {
		if err := Check(name); err == nil || !strings.Contains(err.Error(), "no name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestValues(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"REGION": {"a b/c.d": "", "a\x00": "NUL"},
		"AWS_REGION": {"eu-central-1": "", "": "", "x.evil.example/": "letters, digits and dashes",
			"eu-1@evil": "letters, digits and dashes", "a\x00": "NUL"},
		"aws_region": {"x.evil.example/": "letters, digits and dashes"},
	} {
		for value, want := range want {
			err := CheckAll(map[string]string{name: value})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
}

// Check treats a name equally in any case.
func TestCaseDoesNotCount(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`(LD_|BASH_|GIT_|AWS_|TF_|NUON_|PYTHON|NODE_)?[A-Za-z_][A-Za-z0-9_]{0,20}`).Draw(
			rt, "name")
		if (Check(name) == nil) != (Check(strings.ToLower(name)) == nil) ||
			(Check(name) == nil) != (Check(strings.ToUpper(name)) == nil) {
			rt.Fatal(name)
		}
	})
}

// find compares in upper case, and an exception that has no effect is a mistake.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range groups {
		if g.why == "" || g.instead == "" || len(g.names)+len(g.prefixes) == 0 {
			t.Errorf("%+v", g)
		}
		for _, name := range append(append([]string{}, g.names...), g.prefixes...) {
			if seen[name] || name != strings.ToUpper(name) || !Valid(name) {
				t.Errorf("%s is there twice, or is no name in upper case", name)
			}
			seen[name] = true
		}
	}
	for _, name := range settable {
		if err := Check(name); err != nil {
			t.Error(err)
		}
		if reserved := func() bool { // it would be reserved without the exception
			for _, g := range groups {
				for _, prefix := range g.prefixes {
					if strings.HasPrefix(name, prefix) {
						return true
					}
				}
			}
			return false
		}(); !reserved {
			t.Errorf("%s needs no exception", name)
		}
	}
}
