package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// sandbox is the context of the cluster that an install's sandbox made.
const sandbox = "sandbox"

// varServiceHost is the environment variable with the address of the API server in a pod.
const varServiceHost = "KUBERNETES_SERVICE_HOST"

// Open returns the cluster of a job. It tries in this order: for the context sandbox
// the runner's own kubeconfig; the outputs at spec.Path of the opened values; for the context
// sandbox the cluster that the runner runs in. (Any other context names another cluster,
// and its objects must never get into the runner's own cluster.) Every secret that Open
// finds is added to env.Redact before it returns. It runs the credential plugin, but sends no
// request to the cluster.
//
// Outputs count only as a whole and when they are authentic, as the output named cluster
// of the sandbox or a component. So address, authority and login all come from one apply
// of this install and never from the control plane or a person, and a secret is sent only to
// the server that it came with. The runner's owner must have allowed a program that they name.
// Where env.OnlyCluster names a cluster, any other cluster is rejected before a plugin runs.
func Open(env *job.Env, spec api.ClusterSpec, opened *values.Values) (*Cluster, error) {
	opener := opener{
		log: env.Log, secret: func(text []byte) { env.Redact.Add(text) }, hide: env.Redact.String, environ: os.Environ(),
		mayExec: env.Policy.MayExec, only: env.OnlyCluster,
	}
	if spec.Context == sandbox && env.KubeConfig != "" {
		return opener.fromFile(env.KubeConfig, "")
	}
	given, err := outputsAt(opened, spec.Path)
	if err != nil {
		return nil, err
	}
	if given != nil {
		if err := checkOrigin(opened, spec.Path); err != nil {
			return nil, err
		}
		return opener.fromOutputs(given, strings.Join(spec.Path, "."))
	}
	if spec.Context == sandbox && jobenv.Lookup(opener.environ, varServiceHost) != "" {
		return opener.fromPod()
	}
	return nil, noAccess(spec)
}

// checkOrigin returns an error unless the path names the output cluster of the sandbox
// or a component, as a runner of this install reported it.
func checkOrigin(opened *values.Values, path []string) error {
	where := ".nuon." + strings.Join(path, ".")
	ofSandbox := len(path) == 3 && path[0] == "sandbox" && path[1] == "outputs"
	ofComponent := len(path) == 4 && path[0] == "components" && path[2] == "outputs"
	if !ofSandbox && !ofComponent || path[len(path)-1] != "cluster" {
		return fmt.Errorf("the control plane names %s as a cluster, and a cluster is the output cluster of the sandbox or "+
			"a component; nothing there is used: this is a bug in the control plane; report it", where)
	}
	if !opened.IsAuthentic(path) {
		return fmt.Errorf("no runner of this install reported the cluster at %s: its keyed hash is missing or wrong, so no "+
			"credential goes there; deploy what it comes from again", where)
	}
	return nil
}

// noAccess returns an error that lists all places that were searched.
func noAccess(spec api.ClusterSpec) error {
	if spec.Context != sandbox {
		return fmt.Errorf("there is no access to the cluster of the context %s: its component gives no outputs at "+
			".nuon.%s; deploy the component, and let it have an output cluster",
			spec.Context, strings.Join(spec.Path, "."))
	}
	return fmt.Errorf("there is no access to a cluster: the runner was given no kubeconfig, there are no outputs at "+
		".nuon.%s, and the runner is not in a cluster; "+
		"let the sandbox have an output cluster, or start the runner with runnerd run --kubeconfig",
		strings.Join(spec.Path, "."))
}

// FromFile returns the cluster of a kubeconfig's context, or of the current context
// when context is empty.
func FromFile(path, context string, log Log) (*Cluster, error) {
	opener := opener{log: log, secret: func([]byte) {}, hide: func(text string) string { return text },
		environ: os.Environ(), mayExec: none}
	return opener.fromFile(path, context)
}

// outputsAt returns the cluster's outputs, or nil when there are none.
func outputsAt(opened *values.Values, path []string) (map[string]any, error) {
	if opened == nil || len(path) == 0 {
		return nil, nil //nolint:nilnil // no outputs are no error
	}
	quoted := make([]string, len(path))
	for i, part := range path {
		quoted[i] = fmt.Sprintf("%q", part)
	}
	// The template is ours and reads one path, so it can only fail because
	// that path does not exist.
	text, err := opened.Render("the cluster's outputs", "{{ toJson (index .nuon "+strings.Join(quoted, " ")+") }}")
	if err != nil || text == "null" {
		return nil, nil //nolint:nilerr,nilnil // see above
	}
	var made map[string]any
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		return nil, fmt.Errorf("the output at .nuon.%s is no object; a cluster is told as an object with endpoint and "+
			"certificate_authority_data", strings.Join(path, "."))
	}
	return made, nil
}

// HasClusterOutputs reports whether the outputs at the spec's path describe a cluster.
func HasClusterOutputs(opened *values.Values, spec api.ClusterSpec) bool {
	found, err := outputsAt(opened, spec.Path)
	return found != nil || err != nil
}

// opener creates a Cluster from a kubeconfig, from outputs or from the pod's own access.
type opener struct {
	log Log
	// secret is called with each secret that is found.
	secret func([]byte)
	// hide masks known secrets in a text.
	hide    func(string) string
	environ []string
	// mayExec reports whether outputs may name a program to log in with.
	mayExec func(command string) bool
	// only is the identity of the one cluster that may be reached; empty for any cluster.
	only string
}

func none(string) bool { return false }

// fromPod returns the cluster that the runner runs in.
func (o opener) fromPod() (*Cluster, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("the access of the runner's own pod to its cluster: %w; see to it that its service "+
			"account's token is mounted", err)
	}
	return o.open(config)
}

// open returns the Cluster of a configuration that is complete except for its plugin.
func (o opener) open(config *rest.Config) (*Cluster, error) {
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("the access to the cluster at %s: %w; correct the path of the certificate", config.Host, err)
	}
	for _, secret := range []string{config.BearerToken, config.Password, string(config.KeyData)} {
		if secret != "" {
			o.secret([]byte(secret))
		}
	}
	if config.AuthProvider != nil {
		return nil, errors.New("the kubeconfig has an auth-provider, which Kubernetes dropped in version 1.26; use a " +
			"plugin (exec), a token or a certificate")
	}
	c := &Cluster{config: config, log: o.log, kinds: &kinds{}, client: &client{}, identity: identityOf(config)}
	if o.only != "" && c.identity != o.only {
		return nil, fmt.Errorf("the cluster at %s, or how it is logged in to, is not the one that this component was last "+
			"applied to; deploy the component again", config.Host)
	}
	if config.ExecProvider != nil {
		var err error
		if c.login, err = o.installPlugin(config); err != nil {
			return nil, err
		}
	}
	config.UserAgent = "nuon-runner"
	// The server has its own limits; the client's default of five requests
	// a second is for people.
	config.RateLimiter = untilDeadline{flowcontrol.NewTokenBucketRateLimiter(100, 200)}
	config.WarningHandler = &warnings{log: o.log}
	config.Wrap(c.limitRequests)
	return c, nil
}

// identityOf returns a digest of what identifies a cluster permanently: its address,
// its authority, the name in its certificate, and the login method without the credential.
func identityOf(config *rest.Config) string {
	address := strings.TrimSuffix(strings.ToLower(config.Host), "/")
	encoded, _ := json.Marshal([]string{ // encoding texts never fails
		address, strings.TrimSpace(string(config.CAData)), config.ServerName, strconv.FormatBool(config.Insecure),
		loginOf(config),
	})
	return sha256digest.Of(encoded)
}

// loginOf returns a text that identifies how a configuration logs in.
func loginOf(config *rest.Config) string {
	as := ""
	if who := config.Impersonate; who.UserName != "" {
		as = fmt.Sprintf(" as %q %q", who.UserName, who.Groups)
	}
	switch plugin := config.ExecProvider; {
	case plugin != nil:
		words := append([]string{plugin.Command}, plugin.Args...)
		for _, variable := range plugin.Env {
			words = append(words, variable.Name+"="+variable.Value)
		}
		return fmt.Sprintf("exec %q", words) + as
	case config.BearerToken != "", config.BearerTokenFile != "":
		return "token" + as
	case len(config.CertData) > 0:
		return "certificate" + as
	case config.Username != "":
		return "password" + as
	}
	return "nothing" + as
}

// fromFile returns the cluster of a kubeconfig file of the runner's owner.
func (o opener) fromFile(path, context string) (*Cluster, error) {
	content, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("the runner's kubeconfig: %w; check that the file of runnerd run --kubeconfig exists",
			err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return nil, fmt.Errorf("%s is no kubeconfig: %w; correct it", path, err)
	}
	for _, cluster := range config.Clusters {
		cluster.LocationOfOrigin = path
	}
	for _, user := range config.AuthInfos {
		user.LocationOfOrigin = path
	}
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return nil, fmt.Errorf("%s: %w; correct the paths in it", path, err)
	}
	return o.fromKubeconfig(config, context, path)
}
