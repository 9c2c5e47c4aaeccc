package registry

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // the only driver that is linked
	"github.com/sirupsen/logrus"
)

// defaultMaxUpload bounds one request body when Options.MaxUploadBytes is zero. Layers of images with models have
// tens of gigabytes, and clients send a layer in one request.
const defaultMaxUpload = 64 << 30

// Options configure New.
type Options struct {
	// Dir stores blobs and manifests; created with mode 0700 if missing.
	Dir string
	// Signer verifies the tokens of requests.
	Signer Signer
	// Log receives one line for every request that failed in the registry itself; nil means none.
	// Rejected requests are for the client to report.
	Log *slog.Logger
	// MaxUploadBytes bounds the body of one request; zero means 64 GiB.
	MaxUploadBytes int64
	// Now is the clock for expiry; nil means time.Now.
	Now func() time.Time
}

// Registry is the embedded registry as an http.Handler for /v2/.
type Registry struct {
	app       *handlers.App
	dir       string
	log       *slog.Logger
	maxUpload int64
	// sweeping is locked while a blob is deleted, and read-locked while a request relies on one.
	sweeping sync.RWMutex
}

// New opens the registry over a directory. Close it after the server has stopped.
func New(options Options) (opened *Registry, err error) {
	if errRegister != nil {
		return nil, fmt.Errorf("open registry: %w", errRegister)
	}
	if len(options.Signer.tokens) == 0 {
		return nil, errors.New("open registry: it needs a signer made by NewSigner")
	}
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open registry: %w", err)
	}
	// The handlers panic on a bad configuration.
	defer func() {
		if panicked := recover(); panicked != nil {
			opened, err = nil, fmt.Errorf("open registry at %s: %v", options.Dir, panicked)
		}
	}()
	quietHandlers()
	opened = &Registry{dir: options.Dir, log: options.Log, maxUpload: options.MaxUploadBytes}
	if opened.log == nil {
		opened.log = slog.New(slog.DiscardHandler)
	}
	if opened.maxUpload == 0 {
		opened.maxUpload = defaultMaxUpload
	}
	// The background context: the app lives until Close, not only for one request.
	opened.app = handlers.NewApp(context.Background(), configure(options))
	return opened, nil
}

func configure(options Options) *configuration.Configuration {
	now := options.Now
	if now == nil {
		now = time.Now
	}
	config := &configuration.Configuration{
		Version: configuration.CurrentVersion,
		Storage: configuration.Storage{
			"filesystem": configuration.Parameters{"rootdirectory": options.Dir},
			"delete":     configuration.Parameters{"enabled": true},
			"redirect":   configuration.Parameters{"disable": true},
		},
		Auth: configuration.Auth{
			controllerName: configuration.Parameters{"signer": options.Signer, "now": now},
		},
	}
	config.HTTP.Secret = hex.EncodeToString(options.Signer.uploads)
	// Relative, so that an upload's next URL is right behind any proxy, and no client header can
	// point it to another host.
	config.HTTP.RelativeURLs = true
	return config
}

// quietHandlers silences the handlers' own access log. Their logger is in an internal package, so
// only the process-wide one can be turned off; nothing else of nuon logs through it.
func quietHandlers() {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.PanicLevel)
}

// ServeHTTP answers one request of the OCI distribution protocol.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	answer := &response{ResponseWriter: w}
	request = request.WithContext(context.WithValue(request.Context(), deniedKey{}, answer))
	if request.Body != nil {
		request.Body = http.MaxBytesReader(w, request.Body, r.maxUpload)
	}
	// The protocol has its parameters in the query. The handlers would also look for them in the body, and
	// read a form as a whole, before they check the token.
	request.Form, request.PostForm = request.URL.Query(), url.Values{}
	if reliesOnBlobs(request) {
		r.sweeping.RLock()
		defer r.sweeping.RUnlock()
	}
	r.app.ServeHTTP(answer, request)
	r.renew(request.Method, answer)
	if answer.status >= http.StatusInternalServerError {
		r.log.Error("registry could not answer", "method", request.Method, "path", request.URL.Path, "status",
			answer.status)
	}
}

// Close stops background work. Call it after the server has stopped.
func (r *Registry) Close() error {
	if err := r.app.Shutdown(); err != nil {
		return fmt.Errorf("close registry: %w", err)
	}
	return nil
}
