package jobenv

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// VarPassEnv passes the names of --pass-env from runnerd to a job process, separated by commas.
const VarPassEnv = "NUON_PASS_ENV"

// basicNames are the variables that every program may need: for the network and for paths.
var basicNames = []string{
	"PATH", "HOME", "TMPDIR", "LANG", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
}

// The variables that select the runner's own identity in a cloud or a cluster, as the clouds'
// libraries and Terraform's providers read them.
var (
	identityPrefixes = []string{"AWS_", "AZURE_", "ARM_", "GOOGLE_", "CLOUDSDK_", "KUBE_", "KUBERNETES_SERVICE_",
		"IDENTITY_", "MSI_"}
	identityNames = []string{VarKubeConfig, "GCE_METADATA_HOST"}
)

// The variables with which programs find a cluster and its credentials.
var (
	clusterPrefixes = []string{"KUBE_", "KUBERNETES_SERVICE_"}
	clusterNames    = []string{VarKubeConfig}
)

// VarKubeConfig is the variable with the path of the kubeconfig.
const VarKubeConfig = "KUBECONFIG"

func isCluster(name string) bool {
	return slices.Contains(clusterNames, name) ||
		slices.ContainsFunc(clusterPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func isIdentity(name string) bool {
	return slices.Contains(identityNames, name) ||
		slices.ContainsFunc(identityPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

var nameForm = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// CheckName returns an error for a variable that --pass-env may not name.
func CheckName(name string) error {
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("%q is not the name of a variable; give one name, without its value", name)
	case strings.HasPrefix(name, "NUON_"), strings.HasPrefix(name, "TF_"):
		return fmt.Errorf("%s cannot be passed on: the runner sets the variables NUON_… and TF_… of a job itself", name)
	}
	return nil
}

// JobEnv returns the part of a runner's environment that its job processes get: the basic
// variables, those that its owner named and, on an install runner, those of its cloud identity.
// A build runner executes the content of a repository for no particular account, so by default
// it passes on no identity, but the settings of the builders of images.
func JobEnv(environ []string, install bool, named []string) []string {
	made := pick(environ, func(name string) bool {
		return slices.Contains(basicNames, name) || slices.Contains(named, name) ||
			install && isIdentity(name) || !install && slices.Contains(imagebuilder.Variables, name)
	})
	if len(named) > 0 {
		made = append(made, VarPassEnv+"="+strings.Join(named, ","))
	}
	return made
}

// ToolEnv returns the part of a job process's environment that its tools and scripts get. After UseRole they get the
// variables of the role instead of the runner's own identity.
func ToolEnv(environ []string) map[string]string {
	named := passedNames(environ)
	made := map[string]string{}
	for _, entry := range pick(environ, func(name string) bool {
		return slices.Contains(basicNames, name) || slices.Contains(named, name) || isIdentity(name)
	}) {
		name, value, _ := strings.Cut(entry, "=")
		made[name] = value
	}
	applyRole(environ, made)
	return made
}

// WithoutCluster removes everything that leads to the runner's cluster from a result
// of ToolEnv: an action that did not request a cluster gets none, even if the
// runner's owner passes it on.
func WithoutCluster(environ map[string]string) {
	maps.DeleteFunc(environ, func(name, _ string) bool { return isCluster(name) })
}

// Lookup returns a variable of environ, or "". As everywhere in this package the first
// entry of a name counts.
func Lookup(environ []string, name string) string {
	for _, entry := range environ {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

// IsPassed reports whether the runner's owner passes a variable on by name.
func IsPassed(environ []string, name string) bool { return slices.Contains(passedNames(environ), name) }

func passedNames(environ []string) []string {
	return strings.Split(Lookup(environ, VarPassEnv), ",")
}

// pick returns the entries with wanted names and non-empty values, each name once,
// in the order of environ.
func pick(environ []string, wanted func(name string) bool) []string {
	var made []string
	seen := map[string]bool{}
	for _, entry := range environ {
		name, value, found := strings.Cut(entry, "=")
		if !found || value == "" || seen[name] || !wanted(name) {
			continue
		}
		seen[name] = true
		made = append(made, entry)
	}
	return made
}
