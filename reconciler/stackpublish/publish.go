// Package stackpublish publishes the templates of stacks in a bucket of the vendor, from which the consoles of clouds
// read them, and checks the vendor's own templates that a stack pins by digest. The control API calls it.
package stackpublish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// Options configure a Publisher.
type Options struct {
	// Bucket is the https address of a bucket of S3, of Google Cloud Storage or of Azure Blob Storage, or of another
	// S3-compatible store, with a prefix; empty for none.
	Bucket string
	// AllowPrivate permits the vendor's templates in private networks.
	AllowPrivate bool
	// Roots are the authorities that are trusted for the vendor's templates; nil means the system's.
	Roots *x509.CertPool
	// Client talks to the bucket; nil means the usual one.
	Client *http.Client
}

// Publisher publishes templates. It is safe for concurrent use.
type Publisher struct {
	bucket string       // without / at the end; empty for none
	store  store        // of the bucket
	client *http.Client // for the bucket
	remote *http.Client // for templates of the vendor
}

// timeout bounds one request to the bucket or to a server of the vendor.
const timeout = 30 * time.Second

// New returns a publisher. The credentials for the bucket are those that the libraries of its cloud find.
func New(ctx context.Context, o Options) (*Publisher, error) {
	kinds := []netguard.Kind{netguard.Public}
	if o.AllowPrivate {
		kinds = append(kinds, netguard.Private, netguard.Loopback)
	}
	p := &Publisher{client: o.Client, remote: &http.Client{Timeout: timeout, CheckRedirect: netguard.CheckRedirect,
		Transport: netguard.NewTransport(netguard.Options{HTTPS: kinds, Roots: o.Roots})}}
	if o.Bucket == "" {
		return p, nil
	}
	at, err := url.Parse(o.Bucket)
	if err != nil || at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return nil, fmt.Errorf("--stack-bucket %q: use the address of a bucket, such as "+
			"https://stacks.s3.eu-central-1.amazonaws.com/nuon", o.Bucket)
	}
	if p.client == nil {
		p.client = &http.Client{Timeout: timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	p.bucket = strings.TrimRight(o.Bucket, "/")
	if p.store, err = storeOf(ctx, at, p.client); err != nil {
		return nil, fmt.Errorf("--stack-bucket %s: %w", o.Bucket, err)
	}
	return p, nil
}

// Bucket returns the address of the bucket; empty for none.
func (p *Publisher) Bucket() string { return p.bucket }

// ServesCloudFormation reports whether CloudFormation reads templates from the bucket: it accepts addresses of S3 only.
func (p *Publisher) ServesCloudFormation() bool {
	_, is := p.store.(s3)
	return is
}

// failed returns an error for the person who publishes a template.
func failed(title, remedy string) error {
	return refusal.New(refusal.Upstream, "not_published", title, remedy)
}

// Publish writes a file into the bucket, unless it is there, and returns its address. It requires that anybody who has
// the address can read the file. A file never changes, because its digest is a part of its address.
func (p *Publisher) Publish(ctx context.Context, name string, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	address := installstack.PublishedAddress(p.bucket, digest, name)
	if _, there := p.published(ctx, address, content); there {
		return address, nil
	}
	if err := p.put(ctx, address, digest, content); err != nil {
		return "", err
	}
	if answer, there := p.published(ctx, address, content); !there {
		return "", failed("customers cannot read "+address+": "+answer,
			p.store.readable())
	}
	return address, nil
}

// published reports whether an address has a file without credentials, and what it has otherwise.
func (p *Publisher) published(ctx context.Context, address string, content []byte) (answer string, there bool) {
	status, body, err := p.do(ctx, http.MethodGet, address, nil, int64(len(content))+1, nil)
	switch {
	case err != nil:
		return err.Error(), false
	case status != http.StatusOK:
		return http.StatusText(status), false
	}
	return "the bucket returns another file", bytes.Equal(body, content)
}

// put writes an object.
func (p *Publisher) put(ctx context.Context, address, digest string, content []byte) error {
	status, body, err := p.do(ctx, http.MethodPut, address, content, maxAnswer, func(r *http.Request) error {
		r.Header.Set("Content-Type", "text/plain; charset=utf-8")
		return p.store.authorize(ctx, r, digest)
	})
	what := ""
	switch {
	case err != nil:
		what = err.Error()
	case status != http.StatusOK && status != http.StatusCreated:
		what = fmt.Sprintf("%d %s", status, explain(body))
	default:
		return nil
	}
	return failed(fmt.Sprintf("write a template into the bucket %s (%s): %s", p.bucket, p.store, what),
		"The control plane needs "+p.store.permission()+" there.")
}

// maxAnswer bounds the answer of a bucket that is shown.
const maxAnswer = 4 << 10

// explain returns the code of what a bucket answers. Its message could name the role of the control plane.
func explain(body []byte) string {
	var answer struct{ Code string }
	_ = xml.Unmarshal(body, &answer) // it has no code
	return installstack.Plain(answer.Code, 100)
}

// do sends a request to the bucket, and reads at most limit bytes of its answer.
func (p *Publisher) do(ctx context.Context, method, address string, content []byte, limit int64,
	prepare func(*http.Request) error) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err == nil && prepare != nil {
		err = prepare(request)
	}
	if err != nil {
		return 0, nil, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	body, err = io.ReadAll(io.LimitReader(response.Body, limit))
	return response.StatusCode, body, err
}
