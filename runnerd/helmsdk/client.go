package helmsdk

import (
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// Options of a client.
type Options struct {
	// Namespace of the releases: of their records, and of objects that set no other.
	Namespace string
	// Driver is the kind of a record: "configmap" or "secret". Empty means "configmap".
	Driver string
	// Log must be set.
	Log Log
}

// Client works on the releases of one namespace of a cluster.
type Client struct {
	cluster   *cluster.Cluster
	namespace string
	driver    string
	log       Log
}

// New returns a client. It sends no request yet.
func New(c *cluster.Cluster, options Options) (*Client, error) {
	if options.Namespace == "" {
		return nil, errors.New("the release has no namespace; set namespace of the component")
	}
	switch options.Driver {
	case "":
		options.Driver = "configmap"
	case "configmap", "secret":
	default:
		return nil, fmt.Errorf(
			"storage driver %q is not one that can be used here; set storage_driver of the component to configmap or secret",
			options.Driver)
	}
	return &Client{cluster: c, namespace: options.Namespace, driver: options.Driver, log: options.Log}, nil
}
