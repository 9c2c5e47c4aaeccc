package build_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/sigstore/sigstoretest"
	"github.com/nuon-toolkit/nuon/reconciler/build"
)

// imageText is a component with an image.
func imageText(version string) string {
	return "type = \"container_image\"\nname = \"web\"\n[public]\nimage_url = \"ghcr.io/acme/web\"\n" + version + "\n"
}

// withImage returns hello with an image in place of a module.
func withImage(t *testing.T, version string) *gittest.Repo {
	t.Helper()
	repo := hello(t).Write("app/components/web.toml", imageText(version))
	repo.Commit("an image")
	return repo
}

// imageAt is the resolution of that image.
func imageAt(constraint, tag, content string) api.ModuleResolution {
	return api.ModuleResolution{Tool: "image", Modules: []api.ResolvedModule{{
		Key: "image", Source: "ghcr.io/acme/web", Constraint: constraint, Version: tag, Repository: "oci://ghcr.io/acme/web",
		Tree: sha256digest.Of([]byte(content)), Directory: ".",
	}}}
}

// TestImages: an image is built from the config alone. Its digest stays until the config names another image, or a
// refresh finds that its tag moved; the reason then names both digests.
func TestImages(t *testing.T) {
	repo := withImage(t, `tag = "1.4"`)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "metrics")
	first := b.builds("web")[0]
	spec := b.job(first).Build
	if diff := cmp.Diff(api.ImageSource{Repository: "ghcr.io/acme/web", Tag: "1.4"}, spec.Image); diff != "" ||
		spec.Source.Digest != "" || spec.Modules.Tool != "" || spec.ComponentKind != "container_image" ||
		!strings.Contains(first.Reason, "image ghcr.io/acme/web:1.4") {
		t.Errorf("%s: %+v %s", first.Reason, spec, diff)
	}
	one := imageAt("1.4", "1.4", "one")
	if first = b.succeedWith(one); first.Status != "succeeded" {
		t.Fatal(first.Error)
	}
	if diff := cmp.Diff(one, b.modules(first)); diff != "" {
		t.Error(diff)
	}
	b.wantReleases("1 complete")

	repo.Write("README.md", "more\n")
	b.push("more")
	b.wantBuilds(map[string]int{"web": 1})

	unchanged, err := b.refresh(build.RefreshRequest{})
	if err != nil {
		t.Fatal(err)
	}
	result := api.JobResult{Status: api.JobResultStatusSucceeded, Build: api.BuildResult{Modules: one}}
	if ended := b.endRefresh(unchanged, result); ended.Status != "succeeded" || ended.Release != 0 {
		t.Errorf("the same digest: %+v", ended)
	}
	b.wantBuilds(map[string]int{"web": 1})
	moved, err := b.refresh(build.RefreshRequest{})
	if err != nil {
		t.Fatal(err)
	}
	two := imageAt("1.4", "1.4", "two")
	result.Build.Modules = two
	if ended := b.endRefresh(moved, result); ended.Status != "succeeded" || ended.Release != 2 {
		t.Errorf("another digest: %+v", ended)
	}
	second := b.builds("web")[1]
	want := "ada refreshed the image of component web: tag 1.4 of ghcr.io/acme/web moved from " +
		one.Modules[0].Tree + " to " +
		two.Modules[0].Tree
	if second.Reason != want {
		t.Errorf("got %s, want %s", second.Reason, want)
	}
	if diff := cmp.Diff(two, b.job(second).Build.Modules); diff != "" {
		t.Errorf("the build does not start from the digest that was found: %s", diff)
	}
	b.succeedWith(two)

	repo.Write("app/components/web.toml", imageText(`update_policy = "~1.5.0"`))
	b.push("a policy")
	third := b.builds("web")[2]
	if given := b.job(third).Build; given.Modules.Tool != "" || given.Image.UpdatePolicy != "~1.5.0" ||
		!strings.Contains(third.Reason, `the newest image ghcr.io/acme/web that "~1.5.0" allows `+
			`instead of image ghcr.io/acme/web:1.4`) {
		t.Errorf("%s: %+v", third.Reason, given)
	}
	if third = b.succeedWith(imageAt("~1.5.0", "v1.5.3", "three")); third.Status != "succeeded" {
		t.Error(third.Error)
	}
}

// TestReportedImagesAreChecked: a runner cannot report another image than the config names.
func TestReportedImagesAreChecked(t *testing.T) {
	for name, report := range map[string]func(*api.ModuleResolution){
		"nothing":               func(r *api.ModuleResolution) { *r = api.ModuleResolution{} },
		"modules":               func(r *api.ModuleResolution) { r.Tool = "terraform" },
		"two images":            func(r *api.ModuleResolution) { r.Modules = append(r.Modules, r.Modules[0]) },
		"another repository":    func(r *api.ModuleResolution) { r.Modules[0].Source = "ghcr.io/evil/web" },
		"another tag":           func(r *api.ModuleResolution) { r.Modules[0].Version = "1.5" },
		"another constraint":    func(r *api.ModuleResolution) { r.Modules[0].Constraint = "1.5" },
		"no digest":             func(r *api.ModuleResolution) { r.Modules[0].Tree = "latest" },
		"a repository of git":   func(r *api.ModuleResolution) { r.Modules[0].Repository = "https://github.com/acme/web" },
		"a password in the URL": func(r *api.ModuleResolution) { r.Modules[0].Repository = "oci://a:b@ghcr.io/acme/web" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, withImage(t, `tag = "1.4"`))
			b.connect(true)
			b.sync()
			made := imageAt("1.4", "1.4", "one")
			report(&made)
			if built := b.succeedWith(made); built.Status != "failed" || !strings.Contains(built.Error, "the runner reported") {
				t.Errorf("%s: %s", built.Status, built.Error)
			}
		})
	}
}

// TestARequiredSignature: a build of an image that must be signed has the keys and identities of those who may sign it,
// and another key is another input.
func TestARequiredSignature(t *testing.T) {
	const keyless = "tag = \"1.4\"\n[verification]\nrequire_signature = true\n" +
		"trusted_root = \"./trusted_root.json\"\n[[verification.authorities]]\n" +
		"type = \"keyless\"\nissuer = \"https://accounts.google.com\"\nsubject = \"ada@acme.test\"\n"
	root := sigstoretest.New(t).TrustRoot()
	repo := withImage(t, keyless).Write("app/components/trusted_root.json", root)
	repo.Commit("a trust root")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.wantBuilds(map[string]int{"web": 1})
	wantSigners := func(n int, keys ...string) {
		t.Helper()
		got := b.job(b.builds("web")[n]).Build.Image
		want := api.ImageSource{Repository: got.Repository, Tag: got.Tag, Keys: append(keys, "keyless"), TrustedRoot: root,
			Identities: []api.SignerIdentity{{Issuer: "https://accounts.google.com", Subject: "ada@acme.test"}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	wantSigners(0)
	const key = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----"
	repo.Write("app/components/cosign.pub", key+"\n")
	repo.Write("app/components/web.toml",
		imageText(keyless+"[[verification.authorities]]\ntype = \"public_key\"\npublic_key = \"./cosign.pub\"\n"))
	b.push("a key")
	b.wantBuilds(map[string]int{"web": 2})
	wantSigners(1, key)
	repo.Write("app/components/web.toml", imageText("tag = \"1.4\"\n[verification]\nrequire_signature = false"))
	b.push("without")
	b.wantBuilds(map[string]int{"web": 3})
	if got := b.job(b.builds("web")[2]).Build.Image; len(got.Keys)+len(got.Identities)+len(got.TrustedRoot) > 0 {
		t.Errorf("the image is %+v", got)
	}
}

// TestImageCredentials: builds of images get the credential that names the image most closely, and none for
// modules; builds of modules get none for images.
func TestImageCredentials(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.add("all", "oci://ghcr.io/*")
	v.add("acme", "oci://GHCR.io/acme/*")
	v.add("one", "oci://ghcr.io/acme/api")
	v.add("modules", "https://ghcr.io/*")
	caller, ref := v.attempt("build", "container_image")
	for address, want := range map[string]string{
		"oci://ghcr.io/acme/api": "one", "oci://ghcr.io/acme/web": "acme", "oci://ghcr.io/other/web": "all",
		"oci://ghcr.io.evil.test/acme/api": "", "oci://ghcr.io:444/acme/api": "", "https://ghcr.io/acme/api": "",
	} {
		if got, err := v.get(caller, ref, address); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", address, got, err, want)
		}
	}
	if got, err := v.get(caller, ref, "oci://user@ghcr.io/acme/api"); !refusedAs(err, "bad_module_address") {
		t.Errorf("a user name: got %q, %v", got, err)
	}
	modules, of := v.attempt("build", "terraform_module")
	if got, err := v.get(modules, of, "oci://ghcr.io/acme/api"); got != "" || err != nil {
		t.Errorf("a build of a module got %q, %v", got, err)
	}
}

// TestChartCredentials: builds of charts get credentials for registries and chart repositories, and none for
// registries of modules or ssh.
func TestChartCredentials(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.add("charts", "https://charts.test/private/*")
	v.add("registry", "oci://ghcr.io/acme/*")
	v.add("modules", "https://app.terraform.io", "ssh://git@github.com/acme/*")
	caller, ref := v.attempt("build", "helm_chart")
	for address, want := range map[string]string{
		"https://charts.test/private/index.yaml": "charts", "https://charts.test/private/web-1.0.0.tgz": "charts",
		"https://charts.test/other/index.yaml": "", "oci://ghcr.io/acme/web": "registry", "oci://ghcr.io/other/web": "",
		"https://app.terraform.io": "", "ssh://git@github.com/acme/charts": "",
	} {
		if got, err := v.get(caller, ref, address); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", address, got, err, want)
		}
	}
}
