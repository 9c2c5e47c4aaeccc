package source

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// Bounds of one chart with all its dependencies.
const (
	defaultTimeout = 3 * time.Minute
	// maxIndex is the most bytes of an index; the largest public ones have about 20 MiB.
	maxIndex = 48 << 20
	// maxArchive is the most bytes of one packed chart. What Helm can release has about one.
	maxArchive = 32 << 20
	// maxFetched is the most bytes that all requests for one chart bring.
	maxFetched = 192 << 20
	// maxUnpacked is the most bytes that all archives of one chart unpack to, those inside others among them.
	maxUnpacked = 128 << 20
	// maxFile and maxFiles bound the files of a chart; Helm itself reads files of at most 5 MiB.
	maxFile, maxFiles = 5 << 20, 10_000
	// maxMetadata is the most bytes of a Chart.yaml or a lock.
	maxMetadata = 256 << 10
	// maxDepth is how deep dependencies may have dependencies, and maxCharts how many there may be in all.
	maxDepth, maxCharts = 10, 200
)

// Log is told what is chosen, for people.
type Log interface {
	Info(format string, args ...any)
	Warn(format string, args ...any)
}

// Options say from where charts may come. The zero value is right for a build runner.
type Options struct {
	// AllowPrivate lets repositories be in private networks and on this machine, there without TLS, too.
	AllowPrivate bool
	// Roots are the authorities that servers are believed by; nil means the system's.
	Roots *x509.CertPool
	// Timeout bounds one chart with all its dependencies; zero means 3 minutes.
	Timeout time.Duration
	// Log may be nil.
	Log Log
}

// Fetcher gets charts. It keeps nothing, and is safe for concurrent use.
type Fetcher struct {
	options Options
	client  *http.Client
	rest    time.Duration // between two tries
}

// Chart is a chart with all its dependencies.
type Chart struct {
	// Name, Version and AppVersion are what Chart.yaml says.
	Name, Version, AppVersion string
	// Deprecated is Chart.yaml's word, too.
	Deprecated bool
	// Origin says where it is from: "deploy/chart", "https://charts.example.com/web-1.2.3.tgz".
	Origin string
	// Digest is that of the archive, "sha256:…"; empty for a directory.
	Digest string
	// Files are the chart's own, with Chart.yaml at the root, sorted, without links.
	Files []artifact.File
	// Dependencies are all that were resolved, those of dependencies behind their own.
	Dependencies []Dependency

	at string // names it in errors about its files
}

// Dependency is a chart that another needs.
type Dependency struct {
	Name, Version string
	// Of is the chart that needs it.
	Of string
	// Repository is what Chart.yaml or the lock names; empty for what lies in charts/ only.
	Repository string
	// Digest is that of the archive; empty for a directory.
	Digest string
	// Origin says where it was found: "charts/redis-1.0.0.tgz", "common" (a directory of the source) or an address.
	Origin string
}

// String gives "redis 1.0.0 from charts/redis-1.0.0.tgz (sha256:…)".
func (d Dependency) String() string {
	text := fmt.Sprintf("%s %s from %s", d.Name, d.Version, d.Origin)
	if d.Digest != "" {
		text += " (" + d.Digest + ")"
	}
	return text
}

// New makes a Fetcher.
func New(options Options) *Fetcher {
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	if options.Log == nil {
		options.Log = silent{}
	}
	return &Fetcher{options: options, client: newClient(options), rest: time.Second}
}

type silent struct{}

func (silent) Info(string, ...any) {}
func (silent) Warn(string, ...any) {}

// FromTree gets the chart in a directory of a source tree. Errors name the file and line in the tree.
func (f *Fetcher) FromTree(ctx context.Context, files []artifact.File, dir string) (*Chart, error) {
	s, done := f.begin(ctx)
	defer done()
	t, err := newTree(files)
	if err != nil {
		return nil, err
	}
	found, err := s.directory(t, dir, nil)
	if err != nil {
		return nil, err
	}
	if err := found.usable(); err != nil {
		return nil, err
	}
	return s.chart(found, found.dir, ""), nil
}

// FromRepository gets a chart from a repository, https:// with an index or oci://. The version is exact, a constraint, or empty for the
// newest that is no pre-release.
func (f *Fetcher) FromRepository(ctx context.Context, repository, name, version string) (*Chart, error) {
	s, done := f.begin(ctx)
	defer done()
	place, err := parseRepository(repository)
	if err != nil {
		return nil, err
	}
	got, err := s.fetch(place, name, version)
	if err != nil {
		return nil, err
	}
	return s.packed(got.origin, got.content, version)
}

// FromURL gets a packed chart by its address.
func (f *Fetcher) FromURL(ctx context.Context, address string) (*Chart, error) {
	s, done := f.begin(ctx)
	defer done()
	at, err := parseWeb(address)
	if err != nil {
		return nil, err
	}
	content, err := s.get(at, maxArchive)
	if err != nil {
		return nil, fmt.Errorf("get the chart %s: %w", shown(at), err)
	}
	return s.packed(shown(at), content, "")
}

// FromArchive gets a packed chart that is here already. Name says where it is from, in errors.
func (f *Fetcher) FromArchive(ctx context.Context, name string, content []byte) (*Chart, error) {
	s, done := f.begin(ctx)
	defer done()
	return s.packed(name, content, "")
}

// packed reads an archive that is the chart itself. What it was packed without, Helm would refuse to install.
func (s *session) packed(origin string, content []byte, version string) (*Chart, error) {
	found, err := s.archive(origin, content, 0)
	if err != nil {
		return nil, err
	}
	if err := found.usable(); err != nil {
		return nil, err
	}
	if version != "" && !satisfies(version, found.meta.Version) {
		return nil, fmt.Errorf("%s: asked for version %s, its Chart.yaml says %s; ask whoever publishes it", origin, quote(version), quote(found.meta.Version))
	}
	if err := s.complete(found, nil, nil); err != nil {
		return nil, err
	}
	return s.chart(found, origin, artifact.Digest(content)), nil
}

func (s *session) chart(found *loaded, origin, digest string) *Chart {
	made := &Chart{
		Name: found.meta.Name, Version: found.meta.Version, AppVersion: found.meta.AppVersion, Deprecated: found.meta.Deprecated,
		Origin: origin, Digest: digest, Files: sorted(found.files), Dependencies: s.dependencies, at: found.dir,
	}
	if made.at == "" {
		made.at = made.Name
	}
	if made.Deprecated {
		s.log.Warn("chart %s %s is deprecated, as its Chart.yaml says; look for what takes its place", made.Name, made.Version)
	}
	return made
}

// session is the work on one chart: what it may still use up, and what it has found.
type session struct {
	*Fetcher
	ctx          context.Context //nolint:containedctx // a session is one call
	log          Log
	fetched      int64 // bytes that may still come over the network
	unpacked     int64 // bytes that may still come out of archives
	files        int   // files that may still come out of archives
	charts       int   // charts that may still be looked at
	indexes      map[string][]byte
	got          map[string]download
	dependencies []Dependency
}

func (f *Fetcher) begin(ctx context.Context) (*session, func()) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	return &session{
		Fetcher: f, ctx: ctx, log: f.options.Log, fetched: maxFetched, unpacked: maxUnpacked, files: maxFiles, charts: maxCharts,
		indexes: map[string][]byte{}, got: map[string]download{},
	}, cancel
}
