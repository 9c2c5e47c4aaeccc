package cluster

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Log receives the messages for people; *job.Log implements it.
type Log interface {
	Debug(format string, args ...any)
	Info(format string, args ...any)
	Warn(format string, args ...any)
}

// Cluster is one cluster with the access that a job has to it. It is safe for concurrent use.
type Cluster struct {
	config   *rest.Config
	identity string
	log      Log
	kinds    *kinds
	// wraps are the round trippers around the connection that config makes, innermost first.
	wraps  []func(http.RoundTripper) http.RoundTripper
	client *client
	// login returns tokens. It is nil where the configuration itself holds the credentials.
	login *tokenSource
}

// client is the shared client of a Cluster for objects of any kind, so that all requests
// count against one limit.
type client struct {
	once    sync.Once
	dynamic dynamic.Interface
	err     error
}

// Identity returns "sha256:…", a digest of the cluster's address, its certificate authority
// and its login method. It excludes credentials, so that a rotated token does not change it.
func (c *Cluster) Identity() string { return c.identity }

// Address returns the URL of the API server.
func (c *Cluster) Address() string { return c.config.Host }

// RESTConfig returns a copy of the client configuration. Requests have the time limits and retries
// of transport; warnings of the server go to the log, each sentence once.
func (c *Cluster) RESTConfig() *rest.Config {
	made := rest.CopyConfig(c.config)
	for _, wrap := range c.wraps {
		made.Wrap(wrap)
	}
	return made
}

// WithTransport returns the same cluster with another transport: wrap gets the current one and sees
// each request first. Both share the discovered kinds.
func (c *Cluster) WithTransport(wrap func(http.RoundTripper) http.RoundTripper) *Cluster {
	made := *c
	made.wraps = append(slices.Clip(c.wraps), wrap)
	made.client = &client{}
	return &made
}

// Mapper returns the mapping of kinds to resources. It sends one discovery request;
// callers that create kinds call Invalidate.
func (c *Cluster) Mapper() (meta.RESTMapper, error) {
	if err := c.kinds.open(c.config); err != nil {
		return nil, err
	}
	return c.kinds.mapper, nil
}

// Dynamic returns a client for objects of any kind.
func (c *Cluster) Dynamic() (dynamic.Interface, error) {
	c.client.once.Do(func() { c.client.dynamic, c.client.err = dynamic.NewForConfig(c.RESTConfig()) })
	if c.client.err != nil {
		return nil, fmt.Errorf("the access to the cluster cannot be used: %w", c.client.err)
	}
	return c.client.dynamic, nil
}

// Invalidate discards the discovered kinds. It is called after kinds were added, for example
// by a CustomResourceDefinition.
func (c *Cluster) Invalidate() { c.kinds.invalidate() }
