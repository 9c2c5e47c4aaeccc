package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// maxKubeconfig bounds a kubeconfig and each file that it names, in bytes.
const maxKubeconfig = 4 << 20

// readBounded reads a file of the runner's owner.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxKubeconfig+1))
	if err == nil && len(content) > maxKubeconfig {
		err = fmt.Errorf("%s has more than %d bytes", path, maxKubeconfig)
	}
	return content, err
}

// fromKubeconfig returns the cluster of one context of a kubeconfig, or of the current context when
// context is empty. where is the kubeconfig's name in errors.
func (o opener) fromKubeconfig(config *clientcmdapi.Config, context, where string) (*Cluster, error) {
	if context == "" {
		context = config.CurrentContext
	}
	if config.Contexts[context] == nil {
		return nil, fmt.Errorf("%s has no context %q; it has %s", where, context,
			strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", "))
	}
	// kubectl's loading rules are not used: they read the environment and the home directory
	// of the person who started the runner.
	made, err := clientcmd.NewNonInteractiveClientConfig(*config, context, &clientcmd.ConfigOverrides{},
		nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the context %q of %s: %w; correct the kubeconfig", context, where, err)
	}
	for _, user := range config.AuthInfos {
		if user.TokenFile == "" {
			continue
		}
		if token, err := readBounded(user.TokenFile); err == nil {
			o.secret(token)
		}
	}
	if made.Insecure {
		o.log.Warn("%s says that the certificate of %s is not to be checked: whoever is between the runner and the cluster "+
			"can read and change everything", where, made.Host)
	}
	return o.open(made)
}

// fromOutputKubeconfig checks a kubeconfig that came with a cluster's outputs and returns its
// cluster. It must be self-contained, because no file on this machine belongs to it.
func (o opener) fromOutputKubeconfig(text []byte, where string) (*Cluster, error) {
	config, err := clientcmd.Load(text)
	if err != nil {
		// The library's error may quote the text, which holds secrets.
		return nil, fmt.Errorf("%s is no kubeconfig; give the whole text of one", where)
	}
	for name, user := range config.AuthInfos {
		if err := o.checkUser(user, fmt.Sprintf("the user %q of %s", name, where)); err != nil {
			return nil, err
		}
	}
	for name, cluster := range config.Clusters {
		switch {
		case cluster.CertificateAuthority != "":
			return nil, fmt.Errorf("the cluster %q of %s names a file, which this runner does not have; use "+
				"certificate-authority-data", name, where)
		case cluster.InsecureSkipTLSVerify:
			return nil, refuseInsecure(where)
		case cluster.ProxyURL != "":
			return nil, fmt.Errorf("the cluster %q of %s has a proxy-url, and credentials would go there; let the runner's "+
				"owner set HTTPS_PROXY for the runner", name, where)
		}
		if err := checkAddress(cluster.Server, where); err != nil {
			return nil, err
		}
	}
	return o.fromKubeconfig(config, "", where)
}

// checkUser checks a login of a kubeconfig that came with outputs.
func (o opener) checkUser(user *clientcmdapi.AuthInfo, who string) error {
	switch {
	case user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "":
		return fmt.Errorf("%s names files, which this runner does not have; use client-certificate-data, client-key-data "+
			"and token", who)
	case user.AuthProvider != nil:
		return fmt.Errorf("%s has an auth-provider, which Kubernetes dropped in version 1.26; use a plugin (exec), a token "+
			"or a certificate", who)
	case user.Impersonate != "" || user.ImpersonateUID != "" ||
		len(user.ImpersonateGroups)+len(user.ImpersonateUserExtra) > 0:
		return fmt.Errorf("%s acts as somebody else (impersonation), which only a kubeconfig of the runner's owner may; "+
			"give the login itself what it needs", who)
	case user.Exec != nil:
		return o.checkExec(user.Exec, who)
	}
	return nil
}

func refuseInsecure(where string) error {
	return fmt.Errorf("%s says that the cluster's certificate is not to be checked, which lets anybody in between take "+
		"over the cluster; give certificate_authority_data instead", where)
}

// WriteKubeconfig writes a kubeconfig with which a program reaches the cluster as this
// job does. Only its owner can read the file. It contains the plugin's current credential,
// which is valid for as long as the plugin stated: longer than a job.
func (c *Cluster) WriteKubeconfig(ctx context.Context, path string) error {
	const name = "nuon"
	user := &clientcmdapi.AuthInfo{
		Token: c.config.BearerToken, ClientCertificateData: c.config.CertData, ClientKeyData: c.config.KeyData,
		Username: c.config.Username, Password: c.config.Password,
	}
	if c.login != nil {
		token, err := c.login.currentToken(ctx, "")
		if err != nil {
			return err
		}
		user.Token = token
	}
	made := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: c.config.Host, CertificateAuthorityData: c.config.CAData, TLSServerName: c.config.ServerName,
			InsecureSkipTLSVerify: c.config.Insecure,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: user},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	content, err := clientcmd.Write(made)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
