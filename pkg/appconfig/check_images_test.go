package appconfig

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

// TestContainerImages checks which images are found in manifests that are not rendered yet.
func TestContainerImages(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nspec:\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a container": {pod + "  containers:\n    - name: web\n      image: nginx:1.27\n", []string{"nginx:1.27"}},
		"first in its item": {pod + "  containers:\n    - image: \"ghcr.io/a/b@sha256:00\" # why\n",
			[]string{"ghcr.io/a/b@sha256:00"}},
		"items not indented": {pod + "  containers:\n  - name: web\n    image: 'a'\n  - image: b\n", []string{"a", "b"}},
		"init and others": {pod + "  initContainers:\n  - image: a\n  containers:\n  - env:\n    - name: X\n" +
			"      value: y\n    image: b\n", []string{"a", "b"}},
		"below a template of pods": {"kind: Deployment\nspec:\n  template:\n    spec:\n{{- if .nuon.inputs.inputs.x }}\n" +
			"      containers:\n{{- end }}\n        - image: a\r\n", []string{"a"}},
		"several documents": {pod + "  containers:\n  - image: a\n---\nspec:\n  containers:\n  - image: b\n",
			[]string{"a", "b"}},
		"a template": {pod + "  containers:\n  - image: {{.nuon.components.web.outputs.image.ref}}\n", nil},
		"a part of a template": {pod + "  containers:\n  - image: ghcr.io/a/{{.nuon.inputs.inputs.name}}:1\n  - image: " +
			"\"{{.nuon.components.web.outputs.image.repository}}:1\"\n", nil},
		"quoted keys": {pod + "  \"containers\":\n  - \"image\": \"a\"\n  - name: x\n    'image': b\n", []string{"a", "b"}},
		"an anchor": {pod + "  initContainers:\n  - image: &base a:1 # once\n  containers:\n  - image: *base\n",
			[]string{"a:1"}},
		"volumes": {pod + "  volumes:\n  - name: x\n    image:\n      pullPolicy: Always\n      reference: a\n  - image:\n" +
			"      reference: \"b\"\n    name: y\n  - configMap:\n      reference: c\n", []string{"a", "b"}},
		"another reference":    {"spec:\n  image:\n    reference: a\n  containers:\n  - reference: b\n", nil},
		"a comment":            {pod + "  containers:\n  - name: a\n    # image: a\n", nil},
		"no container":         {"kind: Widget\nspec:\n  image: a\n  list:\n  - image: b\n", nil},
		"a field of one":       {pod + "  containers:\n  - name: a\n    volume:\n      image: b\n", nil},
		"after the containers": {pod + "  containers:\n  - name: a\n  image: b\n", nil},
		"a text": {"kind: ConfigMap\ndata:\n  pod.yaml: |\n    containers:\n    - image: a\n  other: x\n---\n" + pod +
			"  containers:\n  - args:\n    - |-\n      image: b\n    image: c\n", []string{"c"}},
		"a schema": {"properties:\n  containers:\n    items:\n      properties:\n        image:\n" +
			"          type: string\n", nil},
	} {
		var got []string
		lines := strings.Split(c.text, "\n")
		for _, image := range containerImages(c.text) {
			got = append(got, image.address)
			if !strings.HasPrefix(lines[image.line-1][image.column-1:], image.address) {
				t.Errorf("%s: %s is not at %d:%d", name, image.address, image.line, image.column)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestAnyManifestIsSearched checks that every text is accepted, and that positions are in it.
func TestAnyManifestIsSearched(t *testing.T) {
	part := rapid.SampledFrom([]string{"containers:", "volumes:", "- ", "-", "image: a", "image:", "reference: a", "&a ",
		" ", "  ", "\n", "\r\n", "|", ": |\n", "{{", "}}", "---", "#", "'", "\"", "\t", "\xff", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		for _, image := range containerImages(text) {
			line := lineOf(text, image.line)
			if image.column < 1 || !strings.HasPrefix(line[image.column-1:], image.address) {
				t.Fatalf("%q: %+v", text, image)
			}
		}
	})
}

// TestImagesFromOutside checks that an image that no component mirrors is a warning at its place, and an error
// where the app requires mirrored images.
func TestImagesFromOutside(t *testing.T) {
	files := fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v2\"\n")},
		"components/web.toml": {Data: []byte("type = \"kubernetes_manifest\"\nname = \"web\"\nnamespace = \"web\"\n" +
			"manifest = \"./web.yaml\"\n")},
		"components/web.yaml": {Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n" +
			"  - image: nginx:1.27\n")},
	}
	find := func() string {
		_, found := Load(files, Options{})
		for _, d := range found {
			if d.Rule == ruleImageOutside {
				return d.String()
			}
		}
		return found.String()
	}
	const said = "image \"nginx:1.27\" is pulled from outside the customer's registry"
	if got := find(); !strings.Contains(got, "components/web.yaml:6:12: warning: ") || !strings.Contains(got, said) {
		t.Error(got)
	}
	files["metadata.toml"] = &fstest.MapFile{Data: []byte("version = \"v2\"\nrequire_mirrored_images = true\n")}
	if got := find(); !strings.Contains(got, "components/web.yaml:6:12: error: ") || !strings.Contains(got, said) {
		t.Error(got)
	}
}
