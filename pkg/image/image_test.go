package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

func TestParseRepository(t *testing.T) {
	for text, want := range map[string]string{
		"ghcr.io/acme/api": "ghcr.io/acme/api", "nginx": "docker.io/library/nginx", "acme/api": "docker.io/acme/api",
		"docker.io/nginx": "docker.io/library/nginx", "localhost/api": "localhost/api",
		"127.0.0.1:5000/a/b_c.d-e": "127.0.0.1:5000/a/b_c.d-e", "GHCR.io/acme/api": "ghcr.io/acme/api",
		"": "", "https://ghcr.io/acme/api": "", "ghcr.io/acme/api:1": "", "ghcr.io/Acme/api": "", "ghcr.io/../api": "",
		"ghcr.io/acme//api": "", "ghcr.io/": "", "user@ghcr.io/acme": "", "ghcr.io/" + strings.Repeat("a", 2000): "",
	} {
		got, err := ParseRepository(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%.60s: got %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestParseTag(t *testing.T) {
	digest := sha256digest.Of([]byte("x"))
	for text, want := range map[string]string{
		"1.4": "1.4 ", digest: " " + digest, "1.4@" + digest: "1.4 " + digest,
		"": "-", "a/b": "-", "@" + digest: "-", "1.4@latest": "-", "1.4@": "-", "{{.nuon}}": "-",
	} {
		tag, got, err := ParseTag(text)
		if said := tag + " " + got; (err != nil) != (want == "-") || err == nil && said != want {
			t.Errorf("%s: got %s, %v, want %s", text, said, err, want)
		}
	}
}

// one returns an image with one manifest.
func one() Image {
	m := Manifest{Digest: sha256digest.Of([]byte("m")), MediaType: artifact.MediaImageManifest, Size: 10,
		Blobs: []Blob{{Digest: sha256digest.Of([]byte("b")), Size: 20}}}
	return Image{Repository: "ghcr.io/acme/api", Tag: "1.4", Digest: m.Digest, Manifests: []Manifest{m}}
}

func TestPackAndUnpack(t *testing.T) {
	want := one()
	packed, err := want.Pack(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(packed)
	want.Format = formatVersion
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	again, err := one().Pack(nil)
	if err != nil || again.Digest() != packed.Digest() {
		t.Errorf("the same image has the digests %s and %s, %v", packed.Digest(), again.Digest(), err)
	}
	if got.Bytes() != 30 || got.InstallTag() != "1.4-"+got.Digest[7:19] || got.DisplayTag() != "1.4" {
		t.Errorf("%d bytes, %s, %s", got.Bytes(), got.InstallTag(), got.DisplayTag())
	}
	packed.Type = artifact.MediaChart
	if _, err := Unpack(packed); err == nil {
		t.Error("a chart is an image")
	}
}

func TestWrongImages(t *testing.T) {
	for name, change := range map[string]func(*Image){
		"no manifest":             func(i *Image) { i.Manifests = nil },
		"no digest":               func(i *Image) { i.Manifests[0].Digest = "latest" },
		"a path as a digest":      func(i *Image) { i.Manifests[0].Blobs[0].Digest = "../x" },
		"a negative size":         func(i *Image) { i.Manifests[0].Blobs[0].Size = -1 },
		"more bytes than allowed": func(i *Image) { i.Manifests[0].Blobs[0].Size = MaxBytes },
		"a tag of nothing":        func(i *Image) { i.Tags = []Tag{{"x", sha256digest.Of([]byte("other"))}} },
		"a tag that is a path":    func(i *Image) { i.Tags = []Tag{{"a/b", i.Digest}} },
		"a wrong tag":             func(i *Image) { i.Tag = "a/b" },
		"too many manifests":      func(i *Image) { i.Manifests = make([]Manifest, MaxManifests+1) },
	} {
		i := one()
		change(&i)
		if _, err := i.Pack(nil); err == nil {
			t.Errorf("%s: it was packed", name)
		}
	}
}

func TestCloud(t *testing.T) {
	const ecrRegistry = "111122223333.dkr.ecr.eu-central-1.amazonaws.com"
	for host, want := range map[string]string{
		ecrRegistry: AWS, "111122223333.dkr.ecr-fips.us-gov-west-1.amazonaws.com": AWS,
		"111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn": AWS, "111122223333.dkr-ecr.eu-west-1.on.aws": AWS,
		"europe-west3-docker.pkg.dev": GCP, "gcr.io": GCP, "eu.gcr.io": GCP, "acme.azurecr.io": Azure,
		"ghcr.io": "", "public.ecr.aws": "", ecrRegistry + ".evil.test": "", "evil.test/" + ecrRegistry: "",
		"acme.azurecr.io:8443": "", "azurecr.io": "", "evil.test#.azurecr.io": "", "x.y.azurecr.io": "",
	} {
		if got := Cloud(host); got != want {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
	}
	if got := ECRRegion(ecrRegistry); got != "eu-central-1" {
		t.Errorf("the region is %q", got)
	}
}
