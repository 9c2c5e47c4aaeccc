package images

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// TestABuiltImageReachesInstalls: an image is built from the app's repository, and a manifest runs it from the
// registry of the install. A push outside of the context is no build, one inside is the next release.
func TestABuiltImageReachesInstalls(t *testing.T) {
	kubeconfig := clustertest.Kubeconfig(t)
	found, err := imagebuilder.Find(t.Context(), os.Environ())
	if missing := (*imagebuilder.NotFoundError)(nil); errors.As(err, &missing) {
		t.Skip("no builder of images works here: apt install buildah")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(found.Version)
	w := &world{World: fleettest.Start(t, fleet.Options{Kubeconfig: kubeconfig}), spaces: map[string]string{}}
	app := w.app("type = \"docker_build\"\ndockerfile = \"Dockerfile\"\n" +
		"[public_repo]\nrepo = \".\"\ndirectory = \"service\"\n")
	app["service/Dockerfile"] = &fstest.MapFile{Data: []byte("FROM scratch\nCOPY . /srv/\n")}
	app["service/.dockerignore"] = &fstest.MapFile{Data: []byte("*.md\n")}
	app["service/index.html"] = &fstest.MapFile{Data: []byte("one\n")}
	w.vendor, err = w.Fleet.NewRepository(w.Ctx, "shop", app)
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", w.vendor.URL)
	w.Nuon("sync", "--app", "shop", "--wait")
	w.create("east")
	w.Until("east", 1)
	first := w.builtImage("east")

	w.change("service/README.md", "read\n")
	w.change("service/index.html", "two\n")
	w.Until("east", 2)
	if second := w.builtImage("east"); second == first {
		t.Errorf("the install still runs %s", first)
	}
	var builds []api.Build
	w.Must(w.Fleet.JSON(w.Ctx, &builds, "builds", "list", "--app", "shop", "--component", "api_image"))
	if len(builds) != 2 || !strings.Contains(builds[0].Reason, "changed service/index.html, which component api_image") {
		t.Errorf("%+v", builds)
	}
}

// change pushes a file to the app's repository and waits until installs have what follows from it.
func (w *world) change(file, text string) {
	w.Helper()
	w.Must(w.vendor.Write(file, text))
	w.Must(w.vendor.Push(w.Ctx, file))
	w.Nuon("sync", "--app", "shop", "--wait")
}

// builtImage returns the digest of the image that an install runs, which its own registry has.
func (w *world) builtImage(install string) string {
	w.Helper()
	address, digest, _ := strings.Cut(w.data(install)["ref"], "@")
	host := w.Fleet.Registry.Address()
	name, own := strings.CutPrefix(address, host+"/")
	if !own {
		w.Fatalf("%s runs %s, which is not in %s", install, address, host)
	}
	opened, err := w.Fleet.Registry.Open(name)
	w.Must(err)
	m, err := opened.Manifest(w.Ctx, digest)
	w.Must(err)
	var named struct {
		Layers []struct {
			Digest string `json:"digest"`
			Size   int64  `json:"size"`
		} `json:"layers"`
	}
	w.Must(json.Unmarshal(m.Content, &named))
	for _, layer := range named.Layers {
		there, err := opened.HasBlob(w.Ctx, artifact.Blob{Digest: layer.Digest, Size: layer.Size})
		w.Must(err)
		if !there {
			w.Errorf("%s lacks layer %s", host, layer.Digest)
		}
	}
	if len(named.Layers) == 0 {
		w.Errorf("%s runs an image without layers", install)
	}
	return digest
}
