package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// contextSandbox is the name of the cluster that the sandbox creates.
const contextSandbox = "sandbox"

// clusterOf returns the cluster that a component is deployed to, or the zero value
// for kinds without one.
func clusterOf(config *appconfig.App, c *appconfig.Component) api.ClusterSpec {
	if c.Helm == nil && c.Manifest == nil {
		return api.ClusterSpec{}
	}
	return clusterNamed(config, c.KubernetesContext)
}

// clusterNamed returns the path of a cluster's outputs, by the name of its context.
// An empty name is the sandbox's cluster. For an undeclared context the path leads to
// no outputs, so that a typo cannot deploy to another cluster.
func clusterNamed(config *appconfig.App, context string) api.ClusterSpec {
	if context == "" || context == contextSandbox {
		return api.ClusterSpec{Context: contextSandbox, Path: []string{"sandbox", "outputs", "cluster"}}
	}
	if component := contextComponent(config, context); component != "" {
		return api.ClusterSpec{Context: context, Path: []string{"components", component, "outputs", "cluster"}}
	}
	return api.ClusterSpec{Context: context, Path: []string{"kubernetes_contexts", context}}
}

// contextComponent returns the component that creates the cluster of a context; empty for the cluster of the sandbox
// and for an undeclared context.
func contextComponent(config *appconfig.App, context string) string {
	for _, known := range config.KubernetesContexts {
		if known.Name == context && context != contextSandbox {
			return known.Component
		}
	}
	return ""
}

// clusterIdentity lists the outputs that identify a cluster. Its other outputs, such
// as a credential, may change with every apply and do not make a component behind.
var clusterIdentity = []string{"name", "endpoint", "host"}

// identityRefs returns the paths of the outputs that identify a cluster.
func identityRefs(cluster api.ClusterSpec) []render.Path {
	if len(cluster.Path) == 0 {
		return nil
	}
	var refs []render.Path
	for _, key := range clusterIdentity {
		refs = append(refs, append(slices.Clone(render.Path(cluster.Path)), key))
	}
	return refs
}

// addClusterAccess replaces the stored outputs of the cluster with the current ones: the
// credential of an old apply may no longer work.
func (s *snapshot) addClusterAccess(spec *api.DeploySpec) error {
	if len(spec.Cluster.Path) == 0 {
		return nil
	}
	path := render.Path(spec.Cluster.Path)
	now, err := s.values([]render.Path{path})
	if err != nil {
		return err
	}
	var kept, current render.Tree
	if err := decodeExact(spec.Values.Plain, &kept); err != nil {
		return fmt.Errorf("decode the values of %s: %w", spec.Component, err)
	}
	if err := decodeExact(now.Plain, &current); err != nil {
		return fmt.Errorf("decode the outputs of the cluster of %s: %w", spec.Component, err)
	}
	sealed := slices.Clone(now.Sealed)
	for _, value := range spec.Values.Sealed {
		if !render.Path(value.Path).HasPrefix(path...) && !path.HasPrefix(value.Path...) {
			sealed = append(sealed, value)
		}
	}
	proofs := now.Proofs
	for _, proof := range spec.Values.Proofs {
		if !render.Path(proof.Path).HasPrefix(path...) && !path.HasPrefix(proof.Path...) {
			proofs = append(proofs, proof)
		}
	}
	if found, there := current.Get(path); there {
		kept.Set(path, found)
	}
	if spec.Values.Plain, err = json.Marshal(kept); err != nil {
		return fmt.Errorf("encode the values of %s: %w", spec.Component, err)
	}
	spec.Values.Sealed, spec.Values.Proofs = sealed, proofs
	return nil
}

// decodeExact decodes values and keeps their numbers as written: the runner
// identifies a value by its keyed hash.
func decodeExact(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}
