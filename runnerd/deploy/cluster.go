// Package deploy holds what plans and applies of all kinds of components have in common.
package deploy

import (
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// ClusterIdentity names a cluster so that this install can recognize it. The hash is keyed with the install key and bound to the
// component: nobody else can make one for a cluster that the component was never applied to.
func ClusterIdentity(key seal.Identity, installComponent, identity string) api.ClusterIdentity {
	return api.ClusterIdentity{Identity: identity, Hash: key.Hash("cluster/"+installComponent, []byte(identity))}
}
