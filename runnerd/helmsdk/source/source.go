package source

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// Bounds of one chart with all its dependencies.
const (
	defaultTimeout = 3 * time.Minute
	// maxIndex bounds the bytes of an index; the largest public ones have about 20 MiB.
	maxIndex = 48 << 20
	// maxArchive bounds the bytes of one packed chart. Charts that Helm can release
	// have about 1 MiB.
	maxArchive = 32 << 20
	// maxFetched bounds the bytes of all requests for one chart.
	maxFetched = 192 << 20
	// maxUnpacked bounds the unpacked bytes of all archives of one chart, including nested ones.
	maxUnpacked = 128 << 20
	// maxFile and maxFiles bound the files of a chart; Helm itself reads files of at most 5 MiB.
	maxFile, maxFiles = 5 << 20, 10_000
	// maxMetadata bounds the bytes of a Chart.yaml or a lock.
	maxMetadata = 256 << 10
	// maxDepth bounds the depth of dependencies, maxCharts their total number.
	maxDepth, maxCharts = 10, 200
)

// Log receives messages for people about what is chosen.
type Log interface {
	Info(format string, args ...any)
	Warn(format string, args ...any)
}

// Options determine where charts may come from. The zero value is right for a build runner.
type Options struct {
	// AllowPrivate allows repositories in private networks and on this machine, the
	// latter also without TLS.
	AllowPrivate bool
	// Credential returns the credential for an address, zero for none; nil means that there is none for
	// any address.
	Credential func(ctx context.Context, address string) (job.ModuleCredential, error)
	// Roots are the trusted certificate authorities; nil means the system's.
	Roots *x509.CertPool
	// Timeout bounds one chart with all its dependencies; zero means 3 minutes.
	Timeout time.Duration
	// Log may be nil.
	Log Log
}

// Fetcher fetches charts. It has no mutable state, and is safe for concurrent use.
type Fetcher struct {
	options    Options
	client     *http.Client
	retryPause time.Duration // pause between two tries
}

// Chart is a chart with all its dependencies.
type Chart struct {
	// Name, Version and AppVersion are those of Chart.yaml.
	Name, Version, AppVersion string
	// Deprecated is set in Chart.yaml, too.
	Deprecated bool
	// Origin is the source of the chart: "deploy/chart",
	// "https://charts.example.com/web-1.2.3.tgz".
	Origin string
	// Digest is the digest of the archive, "sha256:…"; empty for a directory.
	Digest string
	// Files are the chart's files, with Chart.yaml at the root, sorted, without links.
	Files []artifact.File
	// Dependencies are all resolved dependencies; those of a dependency follow it.
	Dependencies []Dependency

	at string // the chart's path in errors about its files
}

// Dependency is a chart that another depends on.
type Dependency struct {
	Name, Version string
	// Parent is the name of the chart that depends on it.
	Parent string
	// Repository is as in Chart.yaml or the lock; empty for a chart that is only in charts/.
	Repository string
	// Digest is the digest of the archive; empty for a directory.
	Digest string
	// Origin is where it was found: "charts/redis-1.0.0.tgz", "common" (a directory
	// of the source) or an address.
	Origin string
}

// String returns "redis 1.0.0 from charts/redis-1.0.0.tgz (sha256:…)".
func (d Dependency) String() string {
	text := fmt.Sprintf("%s %s from %s", d.Name, d.Version, d.Origin)
	if d.Digest != "" {
		text += " (" + d.Digest + ")"
	}
	return text
}

// New returns a Fetcher.
func New(options Options) *Fetcher {
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	if options.Log == nil {
		options.Log = discardLog{}
	}
	return &Fetcher{options: options, client: newClient(options), retryPause: time.Second}
}

type discardLog struct{}

func (discardLog) Info(string, ...any) {}
func (discardLog) Warn(string, ...any) {}

// FromTree returns the chart in a directory of a source tree. Errors name the file
// and line in the tree.
func (f *Fetcher) FromTree(ctx context.Context, files []artifact.File, dir string) (*Chart, error) {
	s, done := f.newSession(ctx)
	defer done()
	t, err := newTree(files)
	if err != nil {
		return nil, err
	}
	found, err := s.readDirectory(t, dir, nil)
	if err != nil {
		return nil, err
	}
	if err := found.checkUsable(); err != nil {
		return nil, err
	}
	return s.chart(found, found.dir, ""), nil
}

// FromRepository fetches a chart from a repository, https:// with an index or oci://.
// The version is exact, a constraint, or empty for the newest that is not a pre-release.
func (f *Fetcher) FromRepository(ctx context.Context, repository, name, version string) (*Chart, error) {
	s, done := f.newSession(ctx)
	defer done()
	place, err := parseRepository(repository)
	if err != nil {
		return nil, err
	}
	got, err := s.fetch(place, name, version)
	if err != nil {
		return nil, err
	}
	return s.readPacked(got.origin, got.content, version)
}

// FromURL fetches a packed chart by its address.
func (f *Fetcher) FromURL(ctx context.Context, address string) (*Chart, error) {
	s, done := f.newSession(ctx)
	defer done()
	at, err := parseWeb(address)
	if err != nil {
		return nil, err
	}
	content, err := s.get(at, maxArchive)
	if err != nil {
		return nil, fmt.Errorf("get the chart %s: %w", redactedURL(at), err)
	}
	return s.readPacked(redactedURL(at), content, "")
}

// FromArchive reads a packed chart. name is its source in errors.
func (f *Fetcher) FromArchive(ctx context.Context, name string, content []byte) (*Chart, error) {
	s, done := f.newSession(ctx)
	defer done()
	return s.readPacked(name, content, "")
}

// readPacked reads an archive that is the chart itself. Dependencies that are missing
// from it are an error, as Helm would refuse to install it.
func (s *session) readPacked(origin string, content []byte, version string) (*Chart, error) {
	found, err := s.readArchive(origin, content, 0)
	if err != nil {
		return nil, err
	}
	if err := found.checkUsable(); err != nil {
		return nil, err
	}
	if version != "" && !satisfies(version, found.meta.Version) {
		return nil, fmt.Errorf("%s: asked for version %s, its Chart.yaml says %s; report it to its publisher", origin,
			quote(version), quote(found.meta.Version))
	}
	if err := s.addDependencies(found, nil, nil); err != nil {
		return nil, err
	}
	return s.chart(found, origin, sha256digest.Of(content)), nil
}

func (s *session) chart(found *loaded, origin, digest string) *Chart {
	made := &Chart{
		Name: found.meta.Name, Version: found.meta.Version, AppVersion: found.meta.AppVersion,
		Deprecated: found.meta.Deprecated,
		Origin:     origin, Digest: digest, Files: sorted(found.files), Dependencies: s.dependencies, at: found.dir,
	}
	if made.at == "" {
		made.at = made.Name
	}
	if made.Deprecated {
		s.log.Warn("chart %s %s is deprecated, according to its Chart.yaml; look for a replacement", made.Name,
			made.Version)
	}
	return made
}

// session is the work on one chart: its remaining budgets, and its results.
type session struct {
	*Fetcher
	ctx          context.Context //nolint:containedctx // a session is one call
	log          Log
	fetched      int64 // bytes that may still be downloaded
	unpacked     int64 // bytes that may still be unpacked
	files        int   // files that may still be unpacked
	charts       int   // charts that may still be read
	indexes      map[string][]byte
	downloads    map[string]download
	dependencies []Dependency
}

func (f *Fetcher) newSession(ctx context.Context) (*session, func()) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	return &session{
		Fetcher: f, ctx: ctx, log: f.options.Log, fetched: maxFetched, unpacked: maxUnpacked, files: maxFiles,
		charts:  maxCharts,
		indexes: map[string][]byte{}, downloads: map[string]download{},
	}, cancel
}
