package cluster

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
)

// outputReader reads the outputs that describe a cluster. The modules of different clouds use
// different names for the same output.
type outputReader struct {
	outputs map[string]any
	origin  string
}

// text returns the first of the named outputs that is a text and not empty.
func (r outputReader) text(names ...string) string {
	for _, name := range names {
		if text, ok := r.outputs[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// pem returns a certificate or key that is given as PEM or as base64 of it.
func (r outputReader) pem(names ...string) ([]byte, error) {
	text := strings.TrimSpace(r.text(names...))
	if text == "" || strings.HasPrefix(text, "-----BEGIN ") {
		return []byte(text), nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || !bytes.Contains(decoded, []byte("-----BEGIN ")) {
		return nil, fmt.Errorf("%s.%s is neither PEM nor base64 of it; give the certificate in one of these forms",
			r.origin, names[0])
	}
	return decoded, nil
}

// fromOutputs returns the cluster that the outputs at path describe.
func (o opener) fromOutputs(outputs map[string]any, path string) (*Cluster, error) {
	g := outputReader{outputs: outputs, origin: ".nuon." + path}
	if insecure, _ := outputs["insecure_skip_tls_verify"].(bool); insecure {
		return nil, refuseInsecure(g.origin)
	}
	if whole := g.text("kubeconfig", "kube_config", "kubeconfig_raw", "kube_config_raw"); whole != "" {
		o.secret([]byte(whole))
		if decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(whole), "")); err == nil {
			whole = string(decoded)
		}
		return o.fromOutputKubeconfig([]byte(whole), g.origin+".kubeconfig")
	}
	config := &rest.Config{Host: g.text("endpoint", "host", "server")}
	if config.Host == "" {
		return nil, fmt.Errorf("%s has no endpoint (it has %s); give the address of the cluster's API server as endpoint",
			g.origin, strings.Join(slices.Sorted(maps.Keys(outputs)), ", "))
	}
	if !strings.Contains(config.Host, "://") {
		config.Host = "https://" + config.Host
	}
	if err := checkAddress(config.Host, g.origin); err != nil {
		return nil, err
	}
	if err := o.credentials(config, g); err != nil {
		return nil, err
	}
	return o.open(config)
}

// credentials sets how to log in: with what the outputs hold, or with the program that uses
// the runner's identity in the cloud.
func (o opener) credentials(config *rest.Config, g outputReader) (err error) {
	if config.CAData, err = g.pem("certificate_authority_data", "cluster_ca_certificate", "ca_certificate",
		"certificate_authority"); err != nil {
		return err
	}
	if config.CertData, err = g.pem("client_certificate_data", "client_certificate"); err != nil {
		return err
	}
	if config.KeyData, err = g.pem("client_key_data", "client_key"); err != nil {
		return err
	}
	config.BearerToken = g.text("token")
	if given, is := g.outputs["exec"].(map[string]any); is {
		if config.ExecProvider, err = parsePlugin(given, g.origin+".exec"); err != nil {
			return err
		}
		return o.checkExec(config.ExecProvider, g.origin+".exec")
	}
	if config.BearerToken != "" || len(config.CertData) > 0 && len(config.KeyData) > 0 {
		return nil
	}
	config.ExecProvider = cloudPlugin(config, g, o.environ)
	if config.ExecProvider == nil {
		return fmt.Errorf("%s has an endpoint and nothing to log in with, and the endpoint is of no cloud whose login is "+
			"known; give token, client_certificate_data with client_key_data, exec, or kubeconfig", g.origin)
	}
	return nil
}

// eksHost matches the address of an EKS cluster in any AWS partition, and captures the region.
var eksHost = lazyregexp.New(`^[a-z0-9.-]+\.([a-z]{2}(?:-[a-z]+)+-\d+)\.eks\.(?:` +
	`amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|c2s\.ic\.gov|sc2s\.sgov\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)$`)

// eksName matches the names that AWS allows for a cluster. The name becomes an argument.
var eksName = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// cloudPlugin returns the program that logs in to the clusters of a cloud with the runner's
// identity there, or nil when the cloud is unknown. We choose its arguments.
func cloudPlugin(config *rest.Config, g outputReader, environ []string) *clientcmdapi.ExecConfig {
	parsed, err := url.Parse(config.Host)
	if err != nil {
		return nil
	}
	// The one version that all releases of these programs support.
	const version = "client.authentication.k8s.io/v1beta1"
	host, name := strings.ToLower(parsed.Hostname()), g.text("name", "cluster_name")
	if found := eksHost.FindStringSubmatch(host); found != nil && eksName.MatchString(name) {
		return &clientcmdapi.ExecConfig{
			Command: "aws", Args: []string{"eks", "get-token", "--output", "json", "--cluster-name", name, "--region", found[1]},
			APIVersion:  version,
			InstallHint: "install the AWS command line interface on the runner's machine",
		}
	}
	if !isGoogle(config, host, g) {
		return nil
	}
	made := &clientcmdapi.ExecConfig{
		Command: "gke-gcloud-auth-plugin", APIVersion: version, ProvideClusterInfo: true,
		InstallHint: "install the package google-cloud-cli-gke-gcloud-auth-plugin on the runner's machine",
	}
	if jobenv.ToolEnv(environ)["GOOGLE_APPLICATION_CREDENTIALS"] != "" {
		made.Args = []string{"--use_application_default_credentials"}
	}
	return made
}

// isGoogle reports whether an address belongs to a GKE cluster: a name that Google assigns,
// or the bare address that GKE's modules return together with the cluster's own authority,
// so that the token reaches only the holder of its key. Any other host is not Google's and gets
// no token of the runner, even if the outputs have a location or a project.
func isGoogle(config *rest.Config, host string, g outputReader) bool {
	if strings.HasSuffix(host, ".gke.goog") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil && len(config.CAData) > 0 && g.text("location") != "" && g.text("name", "cluster_name") != ""
}

// checkExec returns an error for a program that the outputs of a cluster name and the runner's
// owner does not allow, and for one whose environment could make another program run.
func (o opener) checkExec(plugin *clientcmdapi.ExecConfig, where string) error {
	if !o.mayExec(plugin.Command) {
		return fmt.Errorf("%s names the program %.60q to log in with, and this runner does not run it: its owner can add "+
			"it to exec under [cluster] in the runner file, "+
			"or start the runner with a kubeconfig of their own (runnerd run --kubeconfig)", where, plugin.Command)
	}
	for _, variable := range plugin.Env {
		if err := envname.CheckAll(map[string]string{variable.Name: variable.Value}); err != nil {
			return fmt.Errorf("%s.env: %w", where, err)
		}
	}
	return nil
}

// parsePlugin parses an output named exec.
func parsePlugin(given map[string]any, where string) (*clientcmdapi.ExecConfig, error) {
	made := &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1"}
	made.Command, _ = given["command"].(string)
	if made.Command == "" {
		return nil, fmt.Errorf("%s has no command; give {command, args, env, api_version}", where)
	}
	if version, ok := given["api_version"].(string); ok {
		made.APIVersion = version
	}
	args, _ := given["args"].([]any)
	for _, arg := range args {
		text, ok := arg.(string)
		if !ok {
			return nil, fmt.Errorf("%s.args holds something other than texts", where)
		}
		made.Args = append(made.Args, text)
	}
	environ, _ := given["env"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		text, ok := environ[name].(string)
		if !ok {
			return nil, fmt.Errorf("%s.env.%s is no text", where, name)
		}
		made.Env = append(made.Env, clientcmdapi.ExecEnvVar{Name: name, Value: text})
	}
	return made, nil
}

// checkAddress checks the address that credentials are sent to.
func checkAddress(address, where string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return fmt.Errorf("the address of the cluster in %s is no URL; give https://host:port", where)
	}
	if parsed.Scheme != "https" {
		return fmt.Errorf("the address of the cluster in %s begins with %s://, and credentials go there; give one "+
			"with https://", where, parsed.Scheme)
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		return fmt.Errorf("the address of the cluster in %s holds a query; give https://host:port", where)
	}
	if parsed.User != nil {
		return fmt.Errorf("the address of the cluster in %s holds a login; give a token or a certificate instead", where)
	}
	return nil
}
