package image

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

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
		"a tag of another image":  func(i *Image) { i.Tags = []Tag{{"1.4-8f0c5a6d1e22", i.Digest}} },
		"signatures of another image": func(i *Image) {
			i.Tags = []Tag{{SignatureTags(sha256digest.Of([]byte("other")))[0], i.Digest}}
		},
		"a wrong tag":        func(i *Image) { i.Tag = "a/b" },
		"too many manifests": func(i *Image) { i.Manifests = make([]Manifest, MaxManifests+1) },
		"too many tags":      func(i *Image) { i.Tags = make([]Tag, MaxTags+1) },
		"too many blobs": func(i *Image) {
			i.Manifests[0].Blobs = slices.Repeat(i.Manifests[0].Blobs, MaxBlobs+1)
		},
		"a huge manifest":     func(i *Image) { i.Manifests[0].Size = artifact.MaxManifestBytes + 1 },
		"a negative manifest": func(i *Image) { i.Manifests[0].Size = -1 },
		"a sum that overflows": func(i *Image) {
			for _, content := range []string{"c", "d"} {
				i.Manifests[0].Blobs = append(i.Manifests[0].Blobs,
					Blob{Digest: sha256digest.Of([]byte(content)), Size: math.MaxInt64})
			}
		},
		"another image": func(i *Image) { i.Digest = sha256digest.Of([]byte("other")) },
	} {
		i := one()
		change(&i)
		if _, err := i.Pack(nil); err == nil {
			t.Errorf("%s: it was packed", name)
		}
		content, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Unpack(packed(t, artifact.File{Path: fileName, Content: content})); err == nil {
			t.Errorf("%s: it was unpacked", name)
		}
	}
}

// packed returns an artifact of an image that consists of any files.
func packed(t *testing.T, files ...artifact.File) artifact.Artifact {
	t.Helper()
	made, err := artifact.Pack(artifact.MediaImage, files, nil, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestArtifactsThatAreNoImages checks what a build runner may have stored instead of an image.
func TestArtifactsThatAreNoImages(t *testing.T) {
	for name, test := range map[string]struct {
		files []artifact.File
		want  string
	}{
		"no JSON":        {[]artifact.File{{Path: fileName, Content: []byte("{")}}, "read the image"},
		"no format":      {[]artifact.File{{Path: fileName, Content: []byte("{}")}}, `format ""`},
		"a newer format": {[]artifact.File{{Path: fileName, Content: []byte(`{"format":"2"}`)}}, "build the component again"},
		"another name":   {[]artifact.File{{Path: "other.json", Content: []byte("{}")}}, "incomplete"},
		"a link":         {[]artifact.File{{Path: fileName, Link: "x"}}, "incomplete"},
		"one more file": {[]artifact.File{{Path: "a", Content: []byte("x")}, {Path: fileName, Content: []byte("{}")}},
			"unpack the image"},
		"a huge file": {[]artifact.File{{Path: fileName, Content: make([]byte, limits.FileBytes+1)}}, "unpack the image"},
	} {
		if _, err := Unpack(packed(t, test.files...)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// TestContentOfAnImage checks that content which several manifests name counts once.
func TestContentOfAnImage(t *testing.T) {
	i := one()
	second := Manifest{Digest: sha256digest.Of([]byte("m2")), Size: 5, Blobs: append(slices.Clone(i.Manifests[0].Blobs),
		Blob{Digest: sha256digest.Of([]byte("c")), Size: 7})}
	i.Manifests = append([]Manifest{second}, i.Manifests...)
	want := []artifact.Blob{{Digest: sha256digest.Of([]byte("b")), Size: 20},
		{Digest: sha256digest.Of([]byte("c")), Size: 7}}
	if diff := cmp.Diff(want, i.Blobs()); diff != "" || i.Bytes() != 10+5+20+7 {
		t.Errorf("%d bytes, %s", i.Bytes(), diff)
	}
	if i.Root().Digest != i.Digest || i.Root().Size != 10 {
		t.Errorf("the root is %+v", i.Root())
	}
	if root := (Image{Digest: i.Digest}).Root(); root.Digest != "" {
		t.Errorf("the root of nothing is %+v", root)
	}
}

// TestInstallTag checks that the tag in an install's registry is one, and that two images never
// share it.
func TestInstallTag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tags := rapid.StringMatching(`([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?`)
		a := Image{Tag: tags.Draw(t, "tag"), Digest: sha256digest.Of([]byte("a"))}
		b := Image{Tag: rapid.SampledFrom([]string{a.Tag, tags.Draw(t, "other")}).Draw(t, "tag of b"),
			Digest: sha256digest.Of([]byte("b"))}
		if !tagForm.MatchString(a.InstallTag()) || a.InstallTag() == b.InstallTag() {
			t.Errorf("%s and %s have the tags %s and %s", a.Tag, b.Tag, a.InstallTag(), b.InstallTag())
		}
	})
	if i := (Image{Digest: sha256digest.Of(nil)}); i.InstallTag() != "sha-e3b0c44298fc" ||
		i.DisplayTag() != "sha256:e3b0c44298fc" {
		t.Errorf("without a tag: %s, %s", i.InstallTag(), i.DisplayTag())
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
	for host, want := range map[string]string{
		ecrRegistry: "eu-central-1", strings.ToUpper(ecrRegistry): "eu-central-1",
		"111122223333.dkr.ecr-fips.us-gov-west-1.amazonaws.com": "us-gov-west-1",
		"111122223333.dkr-ecr.ap-southeast-2.on.aws":            "ap-southeast-2", "ghcr.io": "",
		"111122223333.dkr.ecr.evil.test/.amazonaws.com": "", "11112222333.dkr.ecr.eu-central-1.amazonaws.com": "",
	} {
		if got := ECRRegion(host); got != want {
			t.Errorf("the region of %s is %q, want %q", host, got, want)
		}
	}
}
