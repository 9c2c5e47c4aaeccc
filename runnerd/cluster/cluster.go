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

// Log takes what people will read; a *job.Log is one.
type Log interface {
	Debug(format string, args ...any)
	Info(format string, args ...any)
	Warn(format string, args ...any)
}

// Cluster is one cluster with the access that a job has to it. It is for any number of goroutines.
type Cluster struct {
	config   *rest.Config
	identity string
	log      Log
	kinds    *kinds
	// wraps go around the connection that config makes, the first innermost.
	wraps  []func(http.RoundTripper) http.RoundTripper
	client *client
	// login gives tokens; nil where the configuration holds what to log in with.
	login *source
}

// client is the one client of a Cluster for objects of any kind, so that all requests count against one limit.
type client struct {
	once    sync.Once
	dynamic dynamic.Interface
	trouble error
}

// Identity names the cluster: "sha256:…" of its address and its certificate authority. Credentials are not part of it, so that a
// rotated token makes no other cluster.
func (c *Cluster) Identity() string { return c.identity }

// Address is where the API server is, as a person knows it.
func (c *Cluster) Address() string { return c.config.Host }

// REST gives the configuration for a client, as a copy. Its requests are bounded and counted out as transport says, what the server
// warns of goes to the log, each sentence once.
func (c *Cluster) REST() *rest.Config {
	made := rest.CopyConfig(c.config)
	for _, wrap := range c.wraps {
		made.Wrap(wrap)
	}
	return made
}

// Wrapped gives the same cluster through another transport: wrap gets the one that there is, and sees each request before it does. What is
// known of the cluster's kinds is shared.
func (c *Cluster) Wrapped(wrap func(http.RoundTripper) http.RoundTripper) *Cluster {
	made := *c
	made.wraps = append(slices.Clip(c.wraps), wrap)
	made.client = &client{}
	return &made
}

// Mapper says which resource a kind is. It asks the server once; who makes new kinds says so by Invalidate.
func (c *Cluster) Mapper() (meta.RESTMapper, error) {
	if err := c.kinds.open(c.config); err != nil {
		return nil, err
	}
	return c.kinds.mapper, nil
}

// Dynamic gives a client for objects of any kind.
func (c *Cluster) Dynamic() (dynamic.Interface, error) {
	c.client.once.Do(func() { c.client.dynamic, c.client.trouble = dynamic.NewForConfig(c.REST()) })
	if c.client.trouble != nil {
		return nil, fmt.Errorf("the access to the cluster cannot be used: %w", c.client.trouble)
	}
	return c.client.dynamic, nil
}

// Invalidate forgets what kinds the server has; for when it got more, as by a CustomResourceDefinition.
func (c *Cluster) Invalidate() { c.kinds.invalidate() }
