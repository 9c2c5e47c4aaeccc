package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// gatewayFile has the address of the gateway to the clusters, while there is one.
const gatewayFile = "gateway"

// kubernetes is the real cluster behind the one that the provider is configured for. Of everything in
// it, the simulated providers make only the namespaces: components are deployed into them.
type kubernetes struct {
	client *http.Client
	host   string
	token  string
}

// cluster returns the real cluster, or nil if there is none.
func (s *server) cluster() (*kubernetes, error) {
	host := asText(s.config["host"])
	for _, nested := range items(s.config["kubernetes"], "list") {
		host = asText(nested["host"])
	}
	gateway, err := os.ReadFile(filepath.Join(s.store.directory, gatewayFile))
	if errors.Is(err, fs.ErrNotExist) || host == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	proxy, err := url.Parse(string(gateway))
	if err != nil {
		return nil, err
	}
	a, err := loadAuthority(s.store.directory)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	return &kubernetes{host: strings.TrimSuffix(host, "/"), token: a.token, client: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{Proxy: http.ProxyURL(proxy),
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}}, nil
}

// send sends a request and returns its status. Statuses other than those of a success and the accepted
// ones are errors.
func (k *kubernetes) send(ctx context.Context, method, path, contentType string, body any, accepted ...int) (
	int, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, method, k.host+path, bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+k.token)
	request.Header.Set("Content-Type", contentType)
	response, err := k.client.Do(request)
	if err != nil {
		return 0, err
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, err
	}
	for _, status := range append(accepted, http.StatusOK, http.StatusCreated, http.StatusAccepted) {
		if response.StatusCode == status {
			return status, nil
		}
	}
	return 0, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
}

// namespaceOf returns the namespace that an object stands for: its metadata and whether it belongs to
// the object alone.
func namespaceOf(typ string, o object) (metadata object, own bool) {
	switch typ {
	case "kubernetes_namespace", "kubernetes_namespace_v1":
		for _, metadata := range items(o["metadata"], "list") {
			return object{"name": metadata["name"], "labels": metadata["labels"],
				"annotations": metadata["annotations"]}, true
		}
	case "helm_release":
		if o["create_namespace"] == true && asText(o["namespace"]) != "" {
			return object{"name": o["namespace"]}, false
		}
	}
	return nil, false
}

const namespaces = "/api/v1/namespaces"

// ensureNamespace makes the namespace of an object in the real cluster, or changes its labels and
// annotations.
func (s *server) ensureNamespace(ctx context.Context, typ string, o object) error {
	metadata, own := namespaceOf(typ, o)
	if metadata == nil {
		return nil
	}
	k, err := s.cluster()
	if k == nil {
		return err
	}
	status, err := k.send(ctx, http.MethodPost, namespaces, "application/json",
		object{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, http.StatusConflict)
	if err != nil || status != http.StatusConflict || !own {
		return err
	}
	_, err = k.send(ctx, http.MethodPatch, namespaces+"/"+asText(metadata["name"]), "application/merge-patch+json",
		object{"metadata": metadata})
	return err
}

// deleteNamespace deletes the namespace of an object, and waits until it is gone.
func (s *server) deleteNamespace(ctx context.Context, typ string, o object) error {
	metadata, own := namespaceOf(typ, o)
	if !own {
		return nil
	}
	k, err := s.cluster()
	if k == nil {
		return err
	}
	path := namespaces + "/" + asText(metadata["name"])
	if _, err := k.send(ctx, http.MethodDelete, path, "application/json", object{}, http.StatusNotFound); err != nil {
		return err
	}
	for {
		status, err := k.send(ctx, http.MethodGet, path, "application/json", nil, http.StatusNotFound)
		if err != nil || status == http.StatusNotFound {
			return err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("wait until the namespace %s is gone: %w", metadata["name"], err)
		}
	}
}
