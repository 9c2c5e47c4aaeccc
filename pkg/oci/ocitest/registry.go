// Package ocitest serves an OCI registry to tests.
package ocitest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // storage driver
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"   // storage driver
	"github.com/sirupsen/logrus"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// Registry starts a registry that stores everything in memory, and returns its reference. The
// registry stops at the end of the test.
func Registry(t testing.TB) artifact.Reference {
	t.Helper()
	served := httptest.NewServer(Handler(""))
	t.Cleanup(served.Close)
	return artifact.Reference{Host: strings.TrimPrefix(served.URL, "http://"), PlainHTTP: true}
}

// Handler returns a registry that stores everything below a directory, or in memory if dir is
// empty.
func Handler(dir string) http.Handler {
	logrus.SetOutput(io.Discard) // the registry's log would hide the output of the tests
	config := &configuration.Configuration{Storage: configuration.Storage{
		"inmemory":    configuration.Parameters{},
		"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
		"delete":      configuration.Parameters{"enabled": true},
	}}
	if dir != "" {
		delete(config.Storage, "inmemory")
		config.Storage["filesystem"] = configuration.Parameters{"rootdirectory": dir}
	}
	config.HTTP.Secret = "for tests"
	config.Log.AccessLog.Disabled = true
	config.Log.Level = "panic"
	config.Catalog.MaxEntries = 100
	return handlers.NewApp(context.Background(), config)
}
