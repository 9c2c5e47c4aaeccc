package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestInObject checks where images are found in objects, and that texts of ConfigMaps and Secrets are none.
func TestInObject(t *testing.T) {
	for _, c := range []struct {
		object string
		want   []string
	}{
		{"{kind: Pod, spec: {initContainers: [{image: init:1}], containers: [{image: main:1}, {name: none}]}}",
			[]string{"main:1", "init:1"}},
		{"{kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: deep:1}]}}}}}}",
			[]string{"deep:1"}},
		{"{kind: Pod, spec: {volumes: [{image: {reference: volume:1}}, {image: {reference: 7}}]}}", []string{"volume:1"}},
		{"{kind: Prometheus, spec: {image: 'quay.io/prometheus:3', other: {image: ''}}}", []string{"quay.io/prometheus:3"}},
		{"{kind: Custom, spec: {image: {repository: a, sidecar: {image: side:1}}}}", []string{"side:1"}},
		{"{kind: List, items: [{kind: Secret, data: {image: a}}, {kind: ConfigMap, data: {image: b}}, {image: c}]}",
			[]string{"c"}},
		{"{kind: Job, spec: {template: {kind: Secret, spec: {containers: [{image: hidden:1}]}}}}", []string{"hidden:1"}},
		{"{kind: ConfigMap, stringData: {image: a}, binaryData: {image: b}, spec: {data: {image: c}}}", []string{"c"}},
		{"{kind: Custom, spec: {image: {reference: r:1, image: i:1, sidecar: {image: s:1}}}}",
			[]string{"r:1", "i:1", "s:1"}},
		{"[1, null, text]", nil},
	} {
		var object any
		if err := yaml.Unmarshal([]byte(c.object), &object); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, InObject(object)); d != "" {
			t.Errorf("%s: %s", c.object, d)
		}
	}
}
