package helm

import (
	"context"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// BuildAs returns the handler of build jobs of an org whose only credential is the one given.
func BuildAs(username, password string) Build {
	return Build{credential: func(context.Context, string) (job.ModuleCredential, error) {
		return job.ModuleCredential{Username: username, Secret: seal.NewSecret([]byte(password))}, nil
	}}
}

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
