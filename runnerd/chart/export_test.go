package chart

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/bundle"
)

// RenderedIn gives the templates in a bundle, one after the other.
func RenderedIn(t *testing.T, packed artifact.Artifact, spec api.DeploySpec, key seal.Identity) string {
	t.Helper()
	saved, err := openBundle(packed, bundle.ContextOf(spec), key)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, template := range saved.templates {
		all.Write(template.Content)
	}
	return all.String()
}
