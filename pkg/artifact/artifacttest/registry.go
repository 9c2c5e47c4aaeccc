// Package artifacttest serves an OCI registry to tests.
package artifacttest

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // stores what is pushed
	"github.com/sirupsen/logrus"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// Registry starts a registry that stores everything in memory, and returns its reference. The
// registry stops at the end of the test.
func Registry(t testing.TB) artifact.Reference {
	t.Helper()
	logrus.SetOutput(io.Discard) // the registry's log would hide the output of the tests
	config := &configuration.Configuration{Storage: configuration.Storage{
		"inmemory": configuration.Parameters{}, "maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
	}}
	config.HTTP.Secret = "for tests"
	config.Log.AccessLog.Disabled = true
	config.Log.Level = "panic"
	config.Catalog.MaxEntries = 100
	served := httptest.NewServer(handlers.NewApp(context.Background(), config))
	t.Cleanup(served.Close)
	return artifact.Reference{Host: strings.TrimPrefix(served.URL, "http://"), PlainHTTP: true}
}
