package configfetch

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// Options configure what a Fetcher may read. The zero value is right for a control plane.
type Options struct {
	// AllowPrivate permits https:// to private networks and to this machine, and http:// to this
	// machine.
	AllowPrivate bool
	// Local permits file://. It is meant for the machine of the config's author.
	Local bool
	// Roots are the certificate authorities that are trusted for https://; nil means the system's.
	Roots *x509.CertPool
	// Timeout bounds reading one reference, including retries; zero means 15 seconds.
	Timeout time.Duration
	// Resolver resolves names; nil means the system's resolver.
	Resolver *net.Resolver
}

// Fetcher reads references. It stores nothing that it read, and is safe for concurrent use.
type Fetcher struct {
	options Options
	client  *http.Client
}

const (
	defaultTimeout = 15 * time.Second
	// maxAttempts is the number of attempts after temporary failures, within the timeout.
	maxAttempts = 2
	// retryPause is the maximum wait before the next attempt.
	retryPause = 400 * time.Millisecond
)

// New returns a Fetcher.
func New(options Options) *Fetcher {
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	return &Fetcher{options: options, client: newClient(options)}
}

// Local returns a Fetcher for a program that the config's author runs on the machine with the
// config. It may read file://, and otherwise reads what a control plane would.
func Local() *Fetcher { return New(Options{Local: true}) }

// Fetch reads one reference: text of at most limit bytes. If the reference cannot be read, the
// error is an *Error; if ctx ends, it wraps ctx's error.
func (f *Fetcher) Fetch(ctx context.Context, reference string, limit int64) ([]byte, error) {
	return f.fetch(ctx, reference, limit, newBudget(defaultTotal))
}

func (f *Fetcher) fetch(ctx context.Context, text string, limit int64, budget *netguard.Budget) ([]byte, error) {
	ref, problem := parse(text)
	if problem != nil {
		return nil, problem
	}
	within, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	for try := 1; ; try++ {
		data, err := f.read(within, ref, limit, budget)
		if err == nil {
			return data, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read a file from elsewhere: %w", ctx.Err())
		}
		problem := explain(err)
		if !problem.Temporary || try == maxAttempts || !backoff.Pause(within, backoff.Jitter(retryPause)) {
			return nil, problem
		}
	}
}

// read makes one attempt.
func (f *Fetcher) read(
	ctx context.Context, ref reference, limit int64, budget *netguard.Budget,
) (data []byte, err error) {
	switch ref.scheme {
	case web:
		data, err = f.readWeb(ctx, ref.url, limit, budget)
	case git:
		data, err = f.readGit(ctx, ref, limit, budget)
	case local:
		data, err = f.readLocal(ref.path, limit)
	}
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, tooLarge(limit)
	case !utf8.Valid(data) || slices.Contains(data, 0):
		return nil, permanent("it is not UTF-8 text", "name a text file, or save it as UTF-8")
	}
	return data, nil
}

func tooLarge(limit int64) *Error {
	return permanent(fmt.Sprintf("it is larger than %d bytes", limit), "make it smaller, or split it")
}
