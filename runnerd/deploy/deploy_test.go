package deploy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// TestClusterIdentity requires that the hash differs by key, component and cluster.
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
	first := ClusterIdentity(keys[0], "ic_web", "web", "sha256:a")
	if first.Identity != "sha256:a" || first.Hash == "" || first != ClusterIdentity(keys[0], "ic_web", "web", "sha256:a") {
		t.Errorf("got %+v", first)
	}
	for name, hash := range map[string]string{
		"another key":       ClusterIdentity(keys[1], "ic_web", "web", "sha256:a").Hash,
		"another component": ClusterIdentity(keys[0], "ic_api", "web", "sha256:a").Hash,
		"another name":      ClusterIdentity(keys[0], "ic_web", "api", "sha256:a").Hash,
		"another cluster":   ClusterIdentity(keys[0], "ic_web", "web", "sha256:b").Hash,
		"no key":            ClusterIdentity(seal.Identity{}, "ic_web", "web", "sha256:a").Hash,
	} {
		if hash == first.Hash {
			t.Errorf("%s: the same hash", name)
		}
	}
}

// TestAPlanCopiesItsArtifact requires that a plan copies its artifact when no
// sync did, and only once.
func TestAPlanCopiesItsArtifact(t *testing.T) {
	r := newRig(t, "terraform_module")
	r.vendor = &job.Registry{Reference: ocitest.Registry(t)}
	packed := artifact.Wrap(artifact.MediaTerraform, []byte("the module"), nil)
	from, err := r.vendor.Push(t.Context(), "vendor/web", packed)
	if err != nil {
		t.Fatal(err)
	}
	r.from, r.deploy.Artifact.Digest = from, from.Digest
	for range 2 {
		r.mustPlan()
		if got, err := r.registry.Pull(t.Context(), r.deploy.Artifact); err != nil || string(got.Layer) != "the module" {
			t.Fatalf("the install's registry has %q, %v", got.Layer, err)
		}
	}
	if said := r.log.String(); strings.Count(said, "copied "+from.Digest) != 1 || strings.Count(said, "is in") != 1 {
		t.Errorf("it was not copied just once:\n%s", said)
	}
	r.deploy.Artifact.Digest = "sha256:another"
	if _, err := r.plan(); err == nil || !strings.Contains(err.Error(), "is to copy "+from.Digest) {
		t.Errorf("a plan of another artifact than it copies: %v", err)
	}
}

// TestPlansRequireMirroredImages checks that the built-in policy compares images with the registry of the runner, and
// that its denial is in the report of the plan.
func TestPlansRequireMirroredImages(t *testing.T) {
	r := newRig(t, "helm_chart")
	r.deploy.Policies = []api.PolicySpec{{Name: api.MirroredImagesPolicy, Engine: api.BuiltIn}}
	for image, want := range map[string]diff.PolicyStatus{
		r.registry.Reference.Child("inl_1/web").String() + ":1": diff.PolicyPass, "redis:7": diff.PolicyDeny,
	} {
		r.objects = []map[string]any{{"kind": "Pod", "metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"image": image}}}
		var report diff.Report
		if err := json.Unmarshal(r.mustPlan().Report, &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Policies) != 1 || report.Policies[0].Result != want {
			t.Errorf("%s: %+v", image, report.Policies)
		}
	}
}
