package cluster

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kinds caches in memory the kinds that a server has.
type kinds struct {
	once      sync.Once
	err       error
	discovery discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// open creates the clients. It sends no request.
func (k *kinds) open(config *rest.Config) error {
	k.once.Do(func() {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			k.err = fmt.Errorf("the access to the cluster cannot be used: %w", err)
			return
		}
		k.discovery = memory.NewMemCacheClient(client)
		k.mapper = restmapper.NewDeferredDiscoveryRESTMapper(k.discovery)
	})
	return k.err
}

func (k *kinds) invalidate() {
	if k.mapper != nil {
		k.mapper.Reset() // also invalidates the discovery
	}
}

// RESTClientGetter returns access for libraries that are built for kubectl. Objects without
// a namespace belong to namespace.
func (c *Cluster) RESTClientGetter(namespace string) genericclioptions.RESTClientGetter {
	return &getter{cluster: c, namespace: namespace}
}

type getter struct {
	cluster   *Cluster
	namespace string
}

// ToRESTConfig returns the cluster's own configuration.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return g.cluster.RESTConfig(), nil }

// ToDiscoveryClient returns the shared client with its cache in memory.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	if err := g.cluster.kinds.open(g.cluster.config); err != nil {
		return nil, err
	}
	return g.cluster.kinds.discovery, nil
}

// ToRESTMapper returns the shared mapper with its cache in memory.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.cluster.Mapper() }

// ToRawKubeConfigLoader returns a kubeconfig with the namespace and nothing else, so that no
// library finds another cluster.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}
