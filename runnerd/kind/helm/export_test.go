package helm

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// RenderedIn returns the templates in the files of a plan bundle, concatenated.
func RenderedIn(t *testing.T, files []artifact.File) string {
	t.Helper()
	saved, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, template := range saved.templates {
		all.Write(template.Content)
	}
	return all.String()
}
