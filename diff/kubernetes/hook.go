package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// The annotations by which Helm treats an object apart. https://helm.sh/docs/topics/charts_hooks/
const (
	hookAnnotation = "helm.sh/hook"
	keepAnnotation = "helm.sh/resource-policy"
)

func annotation(object raw.Value, key string) string {
	metadata, _ := object.Get("metadata")
	annotations, _ := metadata.Get("annotations")
	return text(annotations, key)
}

// hookOf names the events at which Helm makes the object; empty for an object of the release itself.
func hookOf(object raw.Value) string {
	events := strings.FieldsFunc(annotation(object, hookAnnotation), func(r rune) bool { return r == ',' || r == ' ' })
	return strings.Join(events, ",")
}

// isTest says that the events are those of tests alone.
func isTest(events string) bool {
	for _, e := range strings.Split(events, ",") {
		if e != "test" && e != "test-success" && e != "test-failure" {
			return false
		}
	}
	return events != ""
}

// kept says that Helm leaves the object where it is when it leaves the release.
func kept(object raw.Value) bool {
	return strings.EqualFold(strings.TrimSpace(annotation(object, keepAnnotation)), "keep")
}
