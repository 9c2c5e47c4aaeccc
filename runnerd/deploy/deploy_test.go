package deploy

import (
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// TestClusterIdentity differs by key, component and cluster.
func TestClusterIdentity(t *testing.T) {
	t.Parallel()
	var keys [2]seal.Identity
	for i := range keys {
		made, err := seal.NewIdentity()
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = made
	}
	first := ClusterIdentity(keys[0], "ic_web", "sha256:a")
	if first.Identity != "sha256:a" || first.Hash == "" || first != ClusterIdentity(keys[0], "ic_web", "sha256:a") {
		t.Errorf("got %+v", first)
	}
	for name, hash := range map[string]string{
		"another key":       ClusterIdentity(keys[1], "ic_web", "sha256:a").Hash,
		"another component": ClusterIdentity(keys[0], "ic_api", "sha256:a").Hash,
		"another cluster":   ClusterIdentity(keys[0], "ic_web", "sha256:b").Hash,
		"no key":            ClusterIdentity(seal.Identity{}, "ic_web", "sha256:a").Hash,
	} {
		if hash == first.Hash {
			t.Errorf("%s: the same hash", name)
		}
	}
}
