package modules

import (
	"context"
	"crypto/x509"
	"io/fs"
	"net"
	"net/url"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// Tool is the program that will use the modules. Terraform and OpenTofu read the same files, but
// registry addresses without a host mean different registries.
type Tool string

// The tools.
const (
	Terraform Tool = "terraform"
	OpenTofu  Tool = "tofu"
)

// defaultHost returns the registry of addresses without a host.
func (t Tool) defaultHost() string {
	if t == OpenTofu {
		return "registry.opentofu.org"
	}
	return "registry.terraform.io"
}

// Log receives messages for people about what is chosen.
type Log interface {
	Info(format string, args ...any)
	Warn(format string, args ...any)
}

// Options configure a Resolver. The zero value resolves public modules for Terraform.
type Options struct {
	// Tool is the program that will use the modules; empty means Terraform.
	Tool Tool
	// Credentials returns the credential for an address, or the zero Credential. The address is
	// https://HOST for a registry, https://HOST/PATH for a repository or an archive, and
	// ssh://USER@HOST/PATH for a repository over ssh; it has no query. The credential is used for
	// addresses on that host whose path starts with that path. Nil means none.
	Credentials func(ctx context.Context, at *url.URL) (Credential, error)
	// AllowPrivate reports whether a host may have an address in a private network or on this
	// machine, the latter also without TLS. The host has no port. Nil means that none may. Link-local
	// and metadata addresses are never dialed.
	AllowPrivate func(host string) bool
	// Services maps registry hosts to the URL of their modules.v1 service, like the services of a
	// "host" block in Terraform's CLI configuration. Other hosts are discovered.
	Services map[string]string
	// Roots are the trusted certificate authorities; nil means the system's.
	Roots *x509.CertPool
	// Resolver resolves names; nil means the system's resolver.
	Resolver *net.Resolver
	// Limits bound what is fetched.
	Limits Limits
	// Cache is a directory for fetched packages, by content digest; empty means none. Packages may
	// be private, so a cache belongs to one org. Concurrent use is safe.
	Cache string
	// Log may be nil.
	Log Log
}

// Limits bound one resolution. A zero field means the default that is named beside it.
type Limits struct {
	// Calls is the maximum number of module calls, including those in called modules; default 500.
	Calls int
	// Depth is the maximum number of modules between the component and a module; default 20.
	Depth int
	// DownloadBytes is the maximum size of one archive or git pack; default 128 MiB.
	DownloadBytes int64
	// TotalDownloadBytes is the maximum size of all responses together; default 512 MiB.
	TotalDownloadBytes int64
	// Files and Bytes bound one unpacked package, and all installed modules together; default 20,000
	// and 256 MiB, which are the limits of an artifact.
	Files int
	Bytes int64
	// FileBytes is the maximum size of one file; default 64 MiB.
	FileBytes int64
	// Time bounds a resolution; default 10 minutes.
	Time time.Duration
	// CacheBytes is the size above which the packages that were not used for the longest time leave
	// the cache; default 2 GiB.
	CacheBytes int64
}

func fill[T int | int64 | time.Duration](limit *T, standard T) {
	if *limit <= 0 {
		*limit = standard
	}
}

func (l Limits) orDefault() Limits {
	fill(&l.Calls, 500)
	fill(&l.Depth, 20)
	fill(&l.DownloadBytes, 128<<20)
	fill(&l.TotalDownloadBytes, 512<<20)
	fill(&l.Files, 20_000)
	fill(&l.Bytes, 256<<20)
	fill(&l.FileBytes, 64<<20)
	fill(&l.Time, 10*time.Minute)
	fill(&l.CacheBytes, 2<<30)
	return l
}

// tree returns the limits of one package.
func (l Limits) tree() artifact.Limits {
	return artifact.Limits{Files: l.Files, FileBytes: l.FileBytes, TotalBytes: l.Bytes}
}

// Resolver resolves module calls. It is safe for concurrent use.
type Resolver struct {
	options Options
	cache   packageCache
	pause   time.Duration // between two tries of a request
}

// New returns a Resolver.
func New(options Options) *Resolver {
	if options.Tool == "" {
		options.Tool = Terraform
	}
	if options.AllowPrivate == nil {
		options.AllowPrivate = func(string) bool { return false }
	}
	if options.Credentials == nil {
		options.Credentials = func(context.Context, *url.URL) (Credential, error) { return Credential{}, nil }
	}
	if options.Log == nil {
		options.Log = silent{}
	}
	options.Limits = options.Limits.orDefault()
	return &Resolver{options: options, pause: time.Second,
		cache: packageCache{dir: options.Cache, limits: options.Limits}}
}

type silent struct{}

func (silent) Info(string, ...any) {}
func (silent) Warn(string, ...any) {}

// Result is a resolution with its files.
type Result struct {
	// Resolution records what was chosen.
	Resolution Resolution
	// Files are the installed modules, relative to the component's directory, sorted:
	// .terraform/modules/modules.json and the files of each package. Empty if no call leads outside
	// of the repository.
	Files []artifact.File
	// Fetched is the number of packages that were fetched, as opposed to taken from the cache.
	Fetched int
}

// Resolve resolves the module calls of the root module in a directory of a repository. The tree must
// not let a path leave the repository; links are followed if it follows them, as a filetree.Tree and
// the FS of an os.Root do. previous, which may be nil, is an earlier Resolution for the same tool: a
// call whose source and constraint it has gets the same content again.
//
// Errors name the file and line of the call and the remedy; each is a *CallError, or several joined.
// An error wraps *ChangedError if the content of a recorded version changed, and IsTemporary reports
// whether it may pass.
func (r *Resolver) Resolve(ctx context.Context, tree fs.FS, dir string, previous *Resolution) (*Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Limits.Time, errTooSlow)
	defer cancel()
	return r.newRun(previous).resolve(ctx, tree, dir)
}
