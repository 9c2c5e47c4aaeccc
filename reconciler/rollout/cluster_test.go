package rollout

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// inCluster returns an install whose web is a chart, and whose metrics is a manifest
// deployed to the cluster that network creates.
func inCluster() *snapshot {
	s := newSnapshot()
	s.config.Inputs = append(s.config.Inputs, appconfig.Input{Name: "replicas", Type: "number"})
	s.config.KubernetesContexts = []format.KubernetesContext{{Name: "edge", Component: "network"}}
	s.config.Components[0] = appconfig.Component{
		Name: "metrics", Kind: "kubernetes_manifest", KubernetesContext: "edge", DeployTimeout: "2m",
		Manifest: &appconfig.Manifest{Text: "a", Namespace: "edge"},
	}
	s.config.Components[2] = appconfig.Component{
		Name: "web", Kind: "helm_chart",
		Helm: &appconfig.Helm{ChartName: "web-page", Namespace: "{{.nuon.install.id}}", StorageDriver: "configmap",
			Values: map[string]any{"replicas": int64(3), "tag": "3"}},
	}
	for name, p := range s.components {
		p.declaration = declarationOf(s.config, name)
		if c, ok := s.config.Component(name); ok {
			p.component.Kind = c.Kind
		}
	}
	s.outputs[outputOwner{"component", "sandbox"}] = []store.Output{{Scope: "component", Name: "cluster",
		Value: json.RawMessage(`{"name":"main","endpoint":"https://a","token":"t1"}`)}}
	return s
}

func (s *snapshot) cluster(of, value string) {
	s.outputs[outputOwner{"component", of}] = []store.Output{{Scope: "component", Name: "cluster",
		Value: json.RawMessage(value)}}
}

func TestAnotherClusterIsAReasonToDeployAndAnotherTokenIsNone(t *testing.T) {
	s := inCluster()
	s.landAll()
	s.cluster("sandbox", `{"name":"main","endpoint":"https://a","token":"t2"}`)
	if got := s.stands()["web"]; got != "current" {
		t.Errorf("with another token it is %s", got)
	}
	s.cluster("sandbox", `{"name":"main","endpoint":"https://b","token":"t2"}`)
	if got := s.stands()["web"]; got != "behind: output cluster.endpoint of the sandbox changed" {
		t.Errorf("with another address it is %s", got)
	}
	s.cluster("network", `{"host":"https://edge","token":"t"}`)
	if got := s.stands()["metrics"]; got != "behind: output cluster.host of network changed" {
		t.Errorf("at another cluster of its context it is %s", got)
	}
}

func TestSpecsOfChartsAndManifests(t *testing.T) {
	s := inCluster()
	s.landAll()
	web, err := s.deployTarget(s.components["web"], digestInputs{})
	if err != nil {
		t.Fatal(err)
	}
	want := api.HelmSpec{
		Release: "web-page", Namespace: "{{.nuon.install.id}}", StorageDriver: "configmap",
		Values:      map[string]json.RawMessage{"replicas": json.RawMessage("3"), "tag": json.RawMessage(`"3"`)},
		ValuesFiles: []string{}, InputTypes: map[string]string{"replicas": "number"},
	}
	if d := cmp.Diff(want, web.Deploy.Helm); d != "" {
		t.Error(d)
	}
	var plain map[string]any
	if err := json.Unmarshal(web.Deploy.Values.Plain, &plain); err != nil {
		t.Fatal(err)
	}
	if found, ok := render.Tree(plain).Get(web.Deploy.Cluster.Path); !ok || found.(map[string]any)["token"] != "t1" ||
		web.Timeout != 30*60 {
		t.Errorf("cluster %v at %v, timeout %d", found, web.Deploy.Cluster, web.Timeout)
	}
	p := s.components["metrics"]
	p.row.AppliedInventory = json.RawMessage(
		`[{"group":"","version":"v1","kind":"ConfigMap","namespace":"edge","name":"a"}]`)
	metrics, err := s.deployTarget(p, digestInputs{})
	if err != nil {
		t.Fatal(err)
	}
	if got := metrics.Deploy.Cluster; got.Context != "edge" ||
		!cmp.Equal(got.Path, []string{"components", "network", "outputs", "cluster"}) {
		t.Errorf("it goes to %v", got)
	}
	if !metrics.Deploy.Manifest.Templates || metrics.Timeout != 120 || len(metrics.Existing) != 1 ||
		metrics.Existing[0].Name != "a" {
		t.Errorf("%+v", metrics)
	}
	if !cmp.Equal(p.dependsOn, []string{"sandbox", "network"}) {
		t.Errorf("it comes after %v, and its cluster is made by network", p.dependsOn)
	}
}

// TestMirroredImagesReachPlans passes the built-in policy to the plans of charts and manifests of an app that requires
// mirrored images, and to no others. The key makes them behind.
func TestMirroredImagesReachPlans(t *testing.T) {
	s := inCluster()
	s.landAll()
	s.config.Metadata.RequireMirroredImages = true
	for name, p := range s.components {
		p.declaration = declarationOf(s.config, name)
		target, err := s.deployTarget(p, digestInputs{})
		if err != nil {
			t.Fatal(err)
		}
		want, state := []api.PolicySpec(nil), "current"
		if name == "web" || name == "metrics" {
			want, state = []api.PolicySpec{{Name: "require_mirrored_images", Engine: "built-in"}}, "behind"
		}
		if d := cmp.Diff(want, target.Deploy.Policies); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got := s.stands()[name]; !strings.HasPrefix(got, state) {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// A health job leaves out a component whose cluster no runner has reported yet; a
// reported cluster is passed along.
func TestHealthBringsTheClusterBack(t *testing.T) {
	s := inCluster()
	s.landAll()
	for _, name := range []string{"web", "metrics"} {
		landed, err := s.deployTarget(s.components[name], digestInputs{})
		if err != nil {
			t.Fatal(err)
		}
		s.components[name].applied.Deploy = encoded(t, landed.Deploy)
	}
	if got := s.health(); len(got.Parts) != 0 {
		t.Errorf("without a cluster there are %d parts", len(got.Parts))
	}
	s.components["web"].row.AppliedCluster = json.RawMessage(`{"identity":"sha256:a","hash":"h"}`)
	got := s.health()
	if len(got.Parts) != 1 || got.Parts[0].Deploy.Component != "web" ||
		got.Parts[0].Cluster != (api.ClusterIdentity{Identity: "sha256:a", Hash: "h"}) {
		t.Errorf("%+v", got)
	}
}

func TestAContextThatNothingDeclaresIsNoOtherCluster(t *testing.T) {
	s := inCluster()
	if got := clusterNamed(s.config, "egde"); got.Context != "egde" || len(s.leaves(got.Path)) > 0 {
		t.Errorf("it goes to %v", got)
	}
}

// TestWhatGoesIsReachedWithTheCredentialOfToday: a destroy uses the current token,
// since the one of the apply may be expired.
func TestWhatGoesIsReachedWithTheCredentialOfToday(t *testing.T) {
	s := inCluster()
	s.landAll()
	p := s.components["web"]
	landed, err := s.deployTarget(p, digestInputs{})
	if err != nil {
		t.Fatal(err)
	}
	p.applied.Deploy = encoded(t, landed.Deploy)
	p.applied.Timeout = 77
	if gone, err := s.destroyTarget(p); err != nil || gone.Timeout != 77 {
		t.Errorf("its destroy has %d seconds, %v; its deploy had 77", gone.Timeout, err)
	}
	if p.row.AppliedValues, err = json.Marshal(landed.Deploy.Values); err != nil {
		t.Fatal(err)
	}
	token := func() any {
		t.Helper()
		gone, err := s.destroyTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(gone.Deploy.Values.Sealed) > 0 {
			return gone.Deploy.Values.Sealed
		}
		var plain map[string]any
		if err := json.Unmarshal(gone.Deploy.Values.Plain, &plain); err != nil {
			t.Fatal(err)
		}
		found, _ := render.Tree(plain).Get([]string{"sandbox", "outputs", "cluster", "token"})
		return found
	}
	s.cluster("sandbox", `{"name":"main","endpoint":"https://a","token":"t9"}`)
	if got := token(); got != "t9" {
		t.Errorf("it is reached with %v", got)
	}
	s.outputs[outputOwner{"component", "sandbox"}] = []store.Output{{Scope: "component", Name: "cluster",
		Sealed: sealedTo(key), Hash: "hmac:1"}}
	want := []api.SealedValue{{Path: []string{"sandbox", "outputs", "cluster"}, Component: "ico_sandbox", Hash: "hmac:1",
		Sealed: seal.Sealed{KeyID: key, Ciphertext: []byte("x")}}}
	if d := cmp.Diff(any(want), token()); d != "" {
		t.Error(d)
	}
	s.outputs = map[outputOwner][]store.Output{} // the sandbox lost its outputs: the stored ones are all that is left
	if got := token(); got != "t1" {
		t.Errorf("it is reached with %v", got)
	}
}

func TestAKindThatNothingDeploysIsWaitedForInWords(t *testing.T) {
	s := newSnapshot()
	s.landAll()
	s.config.Components = append(s.config.Components, appconfig.Component{Name: "image", Kind: "pulumi"})
	s.components["web"].refs = append(s.components["web"].refs, render.Path{"components", "image", "outputs", "image",
		"tag"})
	want := "stuck: it reads components.image.outputs.image.tag, and nuon does not deploy components of kind " +
		"pulumi yet; write the value itself, or make it an input"
	if got := s.stands()["web"]; got != want {
		t.Errorf("it is %s", got)
	}
}

func TestTimeouts(t *testing.T) {
	for said, want := range map[[2]string]int{
		{"helm_chart", ""}: 1800, {"kubernetes_manifest", ""}: 900, {"terraform_module", ""}: 3600,
		{"helm_chart", "90s"}: 90, {"helm_chart", "3h"}: 3600, {"helm_chart", "-1s"}: 1800,
	} {
		if got := jobTimeout(said[0], said[1]); got != want {
			t.Errorf("%v: %d seconds, want %d", said, got, want)
		}
	}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
