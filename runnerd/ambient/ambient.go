package ambient

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// VarNamed is how runnerd tells a job process which variables its owner named with --pass-env: their names, with commas between
// them.
const VarNamed = "NUON_PASS_ENV"

// basic are the variables that every program may need: how to reach the network and where things lie.
var basic = []string{
	"PATH", "HOME", "TMPDIR", "LANG", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
}

// The variables by which the runner's own identity in a cloud or a cluster is found, as the clouds' libraries and Terraform's
// providers read them.
var (
	identityPrefixes = []string{"AWS_", "AZURE_", "ARM_", "GOOGLE_", "CLOUDSDK_", "KUBE_", "KUBERNETES_SERVICE_", "IDENTITY_", "MSI_"}
	identityNames    = []string{VarKubeConfig, "GCE_METADATA_HOST"}
)

// The variables by which programs find a cluster and how to log in there.
var (
	clusterPrefixes = []string{"KUBE_", "KUBERNETES_SERVICE_"}
	clusterNames    = []string{VarKubeConfig}
)

// VarKubeConfig names the file by which Kubernetes' programs find their cluster.
const VarKubeConfig = "KUBECONFIG"

func isCluster(name string) bool {
	return slices.Contains(clusterNames, name) ||
		slices.ContainsFunc(clusterPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func isIdentity(name string) bool {
	return slices.Contains(identityNames, name) ||
		slices.ContainsFunc(identityPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// CheckName says whether a variable may be named with --pass-env.
func CheckName(name string) error {
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("%q is not the name of a variable; give one name, without its value", name)
	case strings.HasPrefix(name, "NUON_"), strings.HasPrefix(name, "TF_"):
		return fmt.Errorf("%s cannot be passed on: the runner sets the variables NUON_… and TF_… of a job itself", name)
	}
	return nil
}

// ForJob gives what of a runner's environment its job processes get: the basic variables, those that its owner named, and on an
// install runner those of its cloud identity. A build runner runs what a repository holds, for nobody's account, so it passes on
// no identity by itself.
func ForJob(environ []string, install bool, named []string) []string {
	made := pick(environ, func(name string) bool {
		return slices.Contains(basic, name) || slices.Contains(named, name) || install && isIdentity(name)
	})
	if len(named) > 0 {
		made = append(made, VarNamed+"="+strings.Join(named, ","))
	}
	return made
}

// ForTool gives what of a job process's environment the tools and scripts see that it runs.
func ForTool(environ []string) map[string]string {
	named := namedIn(environ)
	made := map[string]string{}
	for _, entry := range pick(environ, func(name string) bool {
		return slices.Contains(basic, name) || slices.Contains(named, name) || isIdentity(name)
	}) {
		name, value, _ := strings.Cut(entry, "=")
		made[name] = value
	}
	return made
}

// WithoutCluster takes out of what ForTool gave all that leads to the runner's cluster: what did not ask for one gets none, also
// when the runner's owner passes it on.
func WithoutCluster(environ map[string]string) {
	maps.DeleteFunc(environ, func(name, _ string) bool { return isCluster(name) })
}

// Lookup gives a variable of environ, empty when it is not there. As everywhere here the first entry of a name counts.
func Lookup(environ []string, name string) string {
	for _, entry := range environ {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

func namedIn(environ []string) []string {
	return strings.Split(Lookup(environ, VarNamed), ",")
}

// pick gives the entries whose names are wanted and whose values are not empty, each name once, in the order of environ.
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
