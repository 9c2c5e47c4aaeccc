package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// credentials returns a function with the credentials of a pod for registries, from its pull secrets. Like a kubelet,
// it ignores those that do not exist.
func (k *kubelet) credentials(pod *corev1.Pod) auth.CredentialFunc {
	return func(ctx context.Context, host string) (auth.Credential, error) {
		for _, from := range pod.Spec.ImagePullSecrets {
			secret, err := k.secret(ctx, pod.Namespace, from.Name, new(true))
			if err != nil {
				return auth.EmptyCredential, err
			}
			found, err := credentialOf(secret[corev1.DockerConfigJsonKey], host)
			if err != nil {
				return auth.EmptyCredential, fmt.Errorf("the pull secret %s: %w", from.Name, err)
			}
			if found != auth.EmptyCredential {
				return found, nil
			}
		}
		return auth.EmptyCredential, nil
	}
}

// credentialOf returns the credential for a host in a config of Docker, which may be empty. Its errors contain nothing
// of the config.
func credentialOf(config, host string) (auth.Credential, error) {
	if config == "" {
		return auth.EmptyCredential, nil
	}
	var all struct {
		Auths map[string]struct{ Username, Password, Auth string }
	}
	if json.Unmarshal([]byte(config), &all) != nil {
		return auth.EmptyCredential, fmt.Errorf("its %s is not a config of Docker", corev1.DockerConfigJsonKey)
	}
	for _, name := range []string{host, "http://" + host, "https://" + host} {
		found, there := all.Auths[name]
		if there && found.Username == "" && found.Auth != "" {
			text, _ := base64.StdEncoding.DecodeString(found.Auth)
			found.Username, found.Password, _ = strings.Cut(string(text), ":")
		}
		if there {
			return auth.Credential{Username: found.Username, Password: found.Password}, nil
		}
	}
	return auth.EmptyCredential, nil
}
