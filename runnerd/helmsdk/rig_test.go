package helmsdk

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// tree holds the files of a chart by path.
type tree map[string]string

// with returns the tree with files added or replaced; an empty text removes a file.
func (t tree) with(others tree) tree {
	made := maps.Clone(t)
	for name, text := range others {
		if made[name] = text; text == "" {
			delete(made, name)
		}
	}
	return made
}

func (t tree) files() []artifact.File {
	var made []artifact.File
	for _, name := range slices.Sorted(maps.Keys(t)) {
		made = append(made, artifact.File{Path: name, Content: []byte(t[name])})
	}
	return made
}

// load loads the tree as a chart.
func (t tree) load(tb testing.TB) *Chart {
	tb.Helper()
	made, err := LoadChart(t.files())
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

// web is a chart with most features of a chart.
func web() tree {
	return tree{
		"Chart.yaml": `apiVersion: v2
name: web
version: 1.2.3
appVersion: "7"
dependencies:
- {name: cache, version: 0.1.0, repository: "", condition: cache.enabled}
- {name: queue, version: 0.1.0, repository: "", condition: queue.enabled}
`,
		"values.yaml": `replicas: 1
greeting: hello
cache: {enabled: true}
queue: {enabled: false}
`,
		"templates/_helpers.tpl": `{{ define "web.name" }}{{ .Release.Name }}-web{{ end }}`,
		"templates/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "web.name" . }}
data:
  greeting: {{ .Values.greeting | quote }}
  revision: "{{ .Release.Revision }}"
  template: |
    {{ "{{ .Values.untouched }} {{{ and }}" }}
`,
		"templates/secret.yaml": `apiVersion: v1
kind: Secret
metadata:
  name: {{ include "web.name" . }}
stringData:
  password: {{ randAlphaNum 24 }}
`,
		"templates/hook.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "web.name" . }}-hook
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: "-5"
data:
  token: {{ randAlphaNum 24 }}
`,
		"templates/NOTES.txt":      "Thank you for {{ .Chart.Name }} {{ .Chart.Version }}: {{ .Values.greeting }}\n",
		"charts/cache/Chart.yaml":  "apiVersion: v2\nname: cache\nversion: 0.1.0\n",
		"charts/cache/values.yaml": "size: 1\n",
		"charts/cache/templates/cache.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name " +
			"}}-cache'}\ndata: {size: '{{ .Values.size }}'}\n",
		"charts/cache/templates/NOTES.txt": "notes of the cache\n",
		"charts/queue/Chart.yaml":          "apiVersion: v2\nname: queue\nversion: 0.1.0\n",
		"charts/queue/templates/queue.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name " +
			"}}-queue'}\n",
		"charts/queue/crds/queues.yaml": crd("queues"),
	}
}

// crd returns a definition of a kind that only this test uses.
func crd(plural string) string {
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]s.helm.nuon.test
spec:
  group: helm.nuon.test
  scope: Namespaced
  preserveUnknownFields: false
  names: {plural: %[1]s, singular: %[1]s, kind: %[2]s, listKind: %[2]sList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`, plural, kind)
}

// noise returns text of the given size in bytes that does not compress.
func noise(size int) string {
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(text) // it returns no error
	return string(text)
}

func offline(tb testing.TB, c *Chart, values map[string]any) *Rendered {
	tb.Helper()
	made, err := tryOffline(c, values)
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

func tryOffline(c *Chart, values map[string]any) (*Rendered, error) {
	return RenderOffline(context.Background(), c, RenderRequest{Release: "shop", Namespace: "ns", Values: values,
		Revision: 1}, "", nil)
}

// tgz packs files below one directory, as helm package does.
func tgz(tb testing.TB, folder string, files tree) string {
	tb.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := archive.WriteHeader(&tar.Header{Name: folder + "/" + name, Mode: 0o644,
			Size: int64(len(files[name]))}); err != nil {
			tb.Fatal(err)
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.String()
}
