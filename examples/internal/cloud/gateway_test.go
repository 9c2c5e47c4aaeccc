package cloud

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// startBehind starts a cloud with a server in the place of Kubernetes, which answers requests with
// the token "real".
func startBehind(t *testing.T) (*Cloud, context.Context) {
	t.Helper()
	ctx := testtime.Context(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer real" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, "answer to "+r.URL.Path)
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["x"] = &clientcmdapi.Cluster{Server: server.URL, InsecureSkipTLSVerify: true}
	config.AuthInfos["x"] = &clientcmdapi.AuthInfo{Token: "real"}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "x", AuthInfo: "x"}
	config.CurrentContext = "x"
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	c, err := Start(ctx, Options{Dir: t.TempDir(), Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, ctx
}

// get requests a path of a cluster through the gateway, as a client with this configuration does.
func (c *Cloud) get(t *testing.T, address, token string, config *tls.Config) (string, error) {
	t.Helper()
	proxy, err := url.Parse(c.gateway.url())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.Status + " " + string(body), err
}

// TestClusters logs in to the simulated clusters of each cloud as their clients do.
func TestClusters(t *testing.T) {
	c, ctx := startBehind(t)
	trust := &tls.Config{RootCAs: c.gateway.roots}
	absent := "https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com"
	if got, err := c.get(t, absent, c.gateway.token, trust); err == nil {
		t.Errorf("a cluster that nobody created answers %s", got)
	}

	eks, err := c.Create(ctx, "aws_eks_cluster", map[string]any{"name": "one", "role_arn": "arn:aws:iam::1:role/x"})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, _ := eks["endpoint"].(string)
	out, err := exec.CommandContext(ctx, filepath.Join(c.dir, "bin", "aws"), "eks", "get-token", "--output", "json",
		"--cluster-name", "one", "--region", "us-east-1").Output()
	if err != nil {
		t.Fatal(err)
	}
	var credential struct{ Status struct{ Token string } }
	if err := json.Unmarshal(out, &credential); err != nil {
		t.Fatal(err)
	}
	const good = "200 OK answer to /version"
	if got, err := c.get(t, endpoint, credential.Status.Token, trust); got != good {
		t.Errorf("the cluster answers %s, %v", got, err)
	}
	if got, err := c.get(t, endpoint, "other", trust); !strings.HasPrefix(got, "401") {
		t.Errorf("with a wrong token the cluster answers %s, %v", got, err)
	}
	if got, err := c.get(t, endpoint, credential.Status.Token, &tls.Config{}); err == nil {
		t.Errorf("without its authority the cluster answers %s", got)
	}

	gke, err := c.Create(ctx, "google_container_cluster", map[string]any{"name": "two", "location": "us-central1"})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := gke["endpoint"].(string)
	if got, err := c.get(t, "https://"+address, c.gateway.token, trust); got != good {
		t.Errorf("the cluster of Google at %s answers %s, %v", address, got, err)
	}

	aks, err := c.Create(ctx, "azurerm_kubernetes_cluster", map[string]any{"name": "three", "location": "eastus",
		"resource_group_name": "group", "dns_prefix": "three", "private_cluster_enabled": true})
	if err != nil {
		t.Fatal(err)
	}
	access := aks["kube_config"].([]any)[0].(map[string]any)
	var parts [2][]byte
	for i, name := range []string{"client_certificate", "client_key"} {
		if parts[i], err = base64.StdEncoding.DecodeString(access[name].(string)); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(parts[0], parts[1])
	if err != nil {
		t.Fatal(err)
	}
	withCertificate := &tls.Config{RootCAs: c.gateway.roots, Certificates: []tls.Certificate{pair}}
	if got, err := c.get(t, access["host"].(string), "", withCertificate); got != good {
		t.Errorf("the cluster of Azure answers %s, %v", got, err)
	}
	if _, err := clientcmd.Load([]byte(aks["kube_config_raw"].(string))); err != nil {
		t.Error(err)
	}

	if err := c.Remove(ctx, "aws_eks_cluster", "one"); err != nil {
		t.Fatal(err)
	}
	if got, err := c.get(t, endpoint, credential.Status.Token, trust); err == nil {
		t.Errorf("a removed cluster answers %s", got)
	}
}

// TestOtherAddresses reaches a server that is no cluster through the gateway.
func TestOtherAddresses(t *testing.T) {
	c, _ := startBehind(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "outside")
	}))
	defer server.Close()
	trust := &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	if got, err := c.get(t, server.URL, "", trust); got != "200 OK outside" {
		t.Errorf("the server answers %s, %v", got, err)
	}
}
