// Package images tests the way of a container image from a registry to what runs on an install, with the
// real programs.
package images

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// registryPassword opens the vendor's source registry.
const registryPassword = "hidden-registry-password"

// world is a fleet with a registry of images that its build runner reaches.
type world struct {
	*fleettest.World
	source *registrytest.Server
	pushed *oci.Repository
	vendor *fleet.Repository
	spaces map[string]string // namespaces by install
}

func newWorld(t *testing.T) *world {
	t.Helper()
	kubeconfig := clustertest.Kubeconfig(t)
	w := &world{source: registrytest.New(t), spaces: map[string]string{}}
	w.source.Handle("/v2/", ocitest.Handler(""))
	w.source.Require("/v2/", registryPassword)
	var err error
	w.pushed, err = oci.OpenClient(artifact.Reference{Host: w.source.Host, Repository: "acme/api"},
		oci.Basic("acme", registryPassword), &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: w.source.Roots, MinVersion: tls.VersionTLS12}}})
	if err != nil {
		t.Fatal(err)
	}
	w.World = fleettest.Start(t, fleet.Options{Kubeconfig: kubeconfig, Env: []string{
		"SSL_CERT_FILE=" + w.source.CertificateFile(), "NUON_IMAGES_PRIVATE=127.0.0.1"}})
	return w
}

// blob pushes bytes and returns their descriptor.
func (w *world) blob(media, content string) map[string]any {
	w.Helper()
	b := artifact.Blob{Digest: sha256digest.Of([]byte(content)), Size: int64(len(content))}
	w.Must(w.pushed.PutBlob(w.Ctx, b, bytes.NewReader([]byte(content))))
	return map[string]any{"mediaType": media, "digest": b.Digest, "size": b.Size}
}

func (w *world) manifest(media string, keys map[string]any) artifact.RawManifest {
	w.Helper()
	keys["schemaVersion"], keys["mediaType"] = 2, media
	content, err := json.Marshal(keys)
	w.Must(err)
	m := artifact.RawManifest{Digest: sha256digest.Of(content), MediaType: media, Content: content}
	w.Must(w.pushed.PutRawManifest(w.Ctx, m))
	return m
}

// push pushes an image for two platforms, with a signature that refers to it, and returns its digest.
func (w *world) push(tag, words string) string {
	w.Helper()
	var platforms []any
	for _, architecture := range []string{"amd64", "arm64"} {
		m := w.manifest(artifact.MediaImageManifest, map[string]any{
			"config": w.blob("application/vnd.oci.image.config.v1+json",
				fmt.Sprintf(`{"os":"linux","architecture":%q}`, architecture)),
			"layers": []any{w.blob("application/vnd.oci.image.layer.v1.tar", strings.Repeat(words+architecture, 1<<16))},
		})
		platforms = append(platforms, map[string]any{"mediaType": m.MediaType, "digest": m.Digest, "size": len(m.Content)})
	}
	index := w.manifest(artifact.MediaIndex, map[string]any{"manifests": platforms})
	w.manifest(artifact.MediaImageManifest, map[string]any{
		"artifactType": "application/vnd.example.signature", "layers": []any{w.blob("text/plain", "signed")},
		"config":  w.blob("application/vnd.oci.empty.v1+json", "{}"),
		"subject": map[string]any{"mediaType": index.MediaType, "digest": index.Digest, "size": len(index.Content)},
	})
	w.Must(w.pushed.PutTag(w.Ctx, index, tag))
	return index.Digest
}

// app is an app with an image, as its config describes it, and a manifest that runs it.
func (w *world) app(image string) fstest.MapFS {
	return fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v2\"\ndisplay_name = \"Shop\"\n")},
		"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
		"sandbox.toml": {Data: []byte("terraform_version = \"1.11.4\"\n" +
			"[public_repo]\nrepo = \".\"\ndirectory = \"sandbox\"\n")},
		"sandbox/main.tf": {Data: []byte("# nothing is needed\n")},
		"inputs.toml": {Data: []byte("[[group]]\nname = \"place\"\n" +
			"description = \"Where it runs\"\ndisplay_name = \"Place\"\n" +
			"[[input]]\nname = \"namespace\"\ngroup = \"place\"\ndescription = \"Namespace\"\ndisplay_name = \"Namespace\"\n" +
			"required = true\n")},
		"components/api_image.toml": {Data: []byte("name = \"api_image\"\n" + image)},
		"components/api.toml": {Data: []byte("type = \"kubernetes_manifest\"\nname = \"api\"\n" +
			"namespace = \"{{.nuon.inputs.inputs.namespace}}\"\nmanifest = \"\"\"\n" + deployment + "\"\"\"\n")},
	}
}

const deployment = `apiVersion: v1
kind: ConfigMap
metadata:
  name: api
data:
  image: "{{.nuon.components.api_image.outputs.image.repository}}:{{.nuon.components.api_image.outputs.image.tag}}"
  ref: "{{.nuon.components.api_image.outputs.image.ref}}"
  version: "{{.nuon.components.api_image.outputs.image.display_tag}}"
`

// create creates an install with a namespace.
func (w *world) create(install string) {
	w.Helper()
	w.spaces[install] = clustertest.Namespace(w, clustertest.Open(w))
	w.Nuon("installs", "create", install, "--app", "shop", "--runner", "customer", "--approval", "approve-all",
		"--input", "namespace="+w.spaces[install])
}

// data returns what the manifest has of the image on an install.
func (w *world) data(install string) map[string]string {
	w.Helper()
	found := clustertest.Get(w, clustertest.Open(w), api.ObjectRef{Version: "v1", Kind: "ConfigMap", Name: "api",
		Namespace: w.spaces[install]})
	if found == nil {
		w.Fatalf("%s has no object", install)
	}
	data, _, _ := unstructured.NestedStringMap(found.Object, "data")
	return data
}

// runs fails unless what an install has in its cluster names an image of its own registry, which has it
// complete.
func (w *world) runs(install, digest string) {
	w.Helper()
	data := w.data(install)
	host := w.Fleet.Registry.Address()
	repository, tag, _ := strings.Cut(strings.TrimPrefix(data["image"], host+"/"), ":")
	if data["ref"] != host+"/"+repository+"@"+digest || data["version"] != "1.4" ||
		tag != "1.4-"+strings.TrimPrefix(digest, "sha256:")[:12] {
		w.Errorf("%s runs %v, want %s of its own registry %s", install, data, digest, host)
	}
	opened, err := w.Fleet.Registry.Open(repository)
	w.Must(err)
	index, err := opened.Manifest(w.Ctx, tag)
	w.Must(err)
	signatures, err := opened.Referrers(w.Ctx, index, 10)
	w.Must(err)
	var named struct {
		Manifests []struct {
			Digest string `json:"digest"`
		} `json:"manifests"`
	}
	w.Must(json.Unmarshal(index.Content, &named))
	for _, m := range named.Manifests {
		if _, err := opened.Manifest(w.Ctx, m.Digest); err != nil {
			w.Error(err)
		}
	}
	if index.Digest != digest || len(named.Manifests) != 2 || len(signatures) != 1 {
		w.Errorf("the registry has %s with %d platforms and %d signatures", index.Digest,
			len(named.Manifests), len(signatures))
	}
}

// TestAnImageReachesInstalls: an image of a private registry is copied to the registry of each install, and a
// manifest runs it from there. When the tag moves, nothing changes until that is requested; then it is a
// separate release, which installs that follow get and pinned ones do not.
func TestAnImageReachesInstalls(t *testing.T) {
	w := newWorld(t)
	first := w.push("1.4", "first")
	password := filepath.Join(t.TempDir(), "password")
	w.Must(os.WriteFile(password, []byte(registryPassword+"\n"), 0o600))
	w.Nuon("credentials", "create", "images", "--username", "acme", "--from", "@"+password, "--image", w.source.Host)
	var err error
	w.vendor, err = w.Fleet.NewRepository(w.Ctx, "shop", w.app(fmt.Sprintf(
		"type = \"container_image\"\n[public]\nimage_url = %q\ntag = \"1.4\"\n", w.source.Host+"/acme/api")))
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", w.vendor.URL)
	w.Nuon("sync", "--app", "shop", "--wait")
	w.source.Requests()
	for _, name := range []string{"east", "west"} {
		w.create(name)
		w.Until(name, 1)
		w.runs(name, first)
	}
	if asked := w.source.Requests(); len(asked) > 0 {
		t.Errorf("installs asked the source registry for %v", asked)
	}
	w.Nuon("installs", "pin", "west", "1")

	second := w.push("1.4", "second")
	w.Nuon("sync", "--app", "shop", "--wait")
	w.Until("east", 1)
	var dry, refreshed api.ModuleRefresh
	w.Must(w.Fleet.JSON(w.Ctx, &dry, "builds", "refresh", "shop", "--dry-run"))
	if len(dry.Components) != 1 || len(dry.Components[0].Changes) != 1 ||
		dry.Components[0].Changes[0].After.Tree != second ||
		dry.Release != 0 {
		t.Errorf("the dry run shows %+v", dry)
	}
	w.Must(w.Fleet.JSON(w.Ctx, &refreshed, "builds", "refresh", "shop"))
	if refreshed.Release != 2 {
		t.Fatalf("the refresh made %+v", refreshed)
	}
	w.Until("east", 2)
	w.runs("east", second)
	w.Until("west", 1)
	w.runs("west", first)
	var before, after api.Release
	w.Must(w.Fleet.JSON(w.Ctx, &before, "releases", "get", "shop", "1"))
	w.Must(w.Fleet.JSON(w.Ctx, &after, "releases", "get", "shop", "2"))
	moved := fmt.Sprintf("vera refreshed the image of component api_image: tag 1.4 of %s/acme/api moved from %s to %s",
		w.source.Host, first, second)
	if fmt.Sprint(before.Commits) != fmt.Sprint(after.Commits) || !strings.Contains(after.Cause, moved) {
		t.Errorf("release 2 is because %s, want %s", after.Cause, moved)
	}
	var again api.ModuleRefresh
	w.Must(w.Fleet.JSON(w.Ctx, &again, "builds", "refresh", "shop"))
	if again.Release != 0 || len(again.Components[0].Changes) != 0 {
		t.Errorf("a tag that stayed where it was made %+v", again)
	}
	w.prints(second)
	w.requiresMirrored("east")
	w.tearDown("east")
}

// requiresMirrored checks that with require_mirrored_images, an image from outside that only the values of an install
// name is not deployed, and one of the install's own registry is.
func (w *world) requiresMirrored(install string) {
	w.Helper()
	w.Must(w.vendor.Write("metadata.toml",
		"version = \"v2\"\ndisplay_name = \"Shop\"\nrequire_mirrored_images = true\n"))
	w.Must(w.vendor.Write("inputs.toml", string(w.app("")["inputs.toml"].Data)+"[[input]]\nname = \"side\"\n"+
		"group = \"place\"\ndescription = \"Image\"\ndisplay_name = \"Image\"\nrequired = true\n"))
	w.Must(w.vendor.Write("components/side.toml", "type = \"kubernetes_manifest\"\nname = \"side\"\n"+
		"namespace = \"{{.nuon.inputs.inputs.namespace}}\"\nmanifest = \"\"\"\napiVersion: apps/v1\nkind: Deployment\n"+
		"metadata: {name: side}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: side}}\n  template:\n"+
		"    metadata: {labels: {app: side}}\n    spec:\n"+
		"      containers: [{name: side, image: \"{{.nuon.inputs.inputs.side}}\"}]\n\"\"\"\n"))
	w.Must(w.vendor.Push(w.Ctx, "Add an image that each install chooses"))
	w.Nuon("installs", "update", install, "--approval", "prompt")
	w.Nuon("sync", "--app", "shop")
	w.Nuon("installs", "update", install, "--input", "side=busybox:1.37")
	side := api.ObjectRef{Group: "apps", Version: "v1", Kind: "Deployment", Name: "side", Namespace: w.spaces[install]}
	denied := w.approval(install+"/side", func(a api.Approval) bool { return len(a.DeniedBy) > 0 })
	if denied.DeniedBy[0] != api.MirroredImagesPolicy {
		w.Errorf("the plan is denied by %v", denied.DeniedBy)
	}
	if _, err := w.Fleet.Nuon(w.Ctx, "approve", denied.ID); err == nil {
		w.Error("what the policy denies was approved")
	}
	if printed := w.Nuon("review", denied.ID, "--print"); !strings.Contains(printed,
		"image busybox:1.37 is not in the install's registry") {
		w.Errorf("the review does not name the image:\n%s", printed)
	}
	if clustertest.Get(w, clustertest.Open(w), side) != nil {
		w.Error("an image from outside was deployed")
	}
	own := w.data(install)["ref"]
	w.Nuon("installs", "update", install, "--input", "side="+own)
	allowed := w.approval(install+"/side", func(a api.Approval) bool { return a.ID != denied.ID && len(a.DeniedBy) == 0 })
	w.Nuon("approve", allowed.ID)
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the image of the own registry is deployed", func() (bool, error) {
		return clustertest.Get(w, clustertest.Open(w), side) != nil, nil
	}))
}

// approval waits for a plan of a component that waits for approval and is as wanted.
func (w *world) approval(subject string, wanted func(api.Approval) bool) (found api.Approval) {
	w.Helper()
	install, component, _ := strings.Cut(subject, "/")
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "a plan of "+subject+" waits", func() (bool, error) {
		var all []api.Approval
		err := w.Fleet.JSON(w.Ctx, &all, "review")
		for _, a := range all {
			if a.Install == install && a.Component == component && wanted(a) {
				found = a
				return true, nil
			}
		}
		return false, err
	}))
	return found
}

// tearDown removes the image and what runs it from an install.
func (w *world) tearDown(install string) {
	w.Helper()
	w.Nuon("installs", "teardown", install, "api_image", "--dependents", "--yes")
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the image is removed from "+install, func() (bool, error) {
		waiting, err := w.Fleet.Nuon(w.Ctx, "review", "-o", "name")
		if err != nil {
			return false, err
		}
		for _, approval := range strings.Fields(string(waiting)) {
			// It fails for an approval that no longer waits; the next round lists them again.
			_, _ = w.Fleet.Nuon(w.Ctx, "approve", approval)
		}
		var i api.Install
		if err := w.Fleet.JSON(w.Ctx, &i, "installs", "get", install); err != nil {
			return false, err
		}
		for _, c := range i.Components {
			if c.Name == "api_image" {
				return c.Status == "removed", nil
			}
		}
		return false, fmt.Errorf("%s has no component api_image", install)
	}))
}

// prints checks what the commands print about an image.
func (w *world) prints(digest string) {
	w.Helper()
	var builds []api.Build
	w.Must(w.Fleet.JSON(w.Ctx, &builds, "builds", "list", "--app", "shop", "--component", "api_image"))
	image := fmt.Sprintf("image     %s/acme/api 1.4 %s", w.source.Host, digest)
	if out := w.Nuon("builds", "get", builds[0].ID); !strings.Contains(out, image) {
		w.Errorf("builds get prints %s, want %s", out, image)
	}
	if len(builds) != 2 {
		w.Errorf("%d builds, want 2", len(builds))
	}
}
