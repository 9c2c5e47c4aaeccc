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
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// Options configure a Publisher.
type Options struct {
	// Bucket is the https address of an S3-compatible bucket, with a prefix; empty for none.
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
	bucket      string // without / at the end; empty for none
	region      string
	credentials aws.CredentialsProvider
	client      *http.Client // for the bucket
	remote      *http.Client // for templates of the vendor
}

// timeout bounds one request to the bucket or to a server of the vendor.
const timeout = 30 * time.Second

// regionOfHost finds the region in the address of a bucket on AWS.
var regionOfHost = regexp.MustCompile(`(?:^|\.)s3[.-]([a-z]{2}(?:-[a-z]+)+-[0-9])\.amazonaws\.com(?:\.cn)?$`)

// New returns a publisher. The credentials for the bucket are those that the SDK of AWS finds.
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
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("--stack-bucket: read the configuration of AWS: %w", err)
	}
	p.bucket, p.region, p.credentials = strings.TrimRight(o.Bucket, "/"), loaded.Region, loaded.Credentials
	if m := regionOfHost.FindStringSubmatch(at.Hostname()); m != nil {
		p.region = m[1]
	}
	if p.region == "" {
		return nil, fmt.Errorf("--stack-bucket %s: set AWS_REGION to the region of the bucket", o.Bucket)
	}
	return p, nil
}

// Bucket returns the address of the bucket; empty for none.
func (p *Publisher) Bucket() string { return p.bucket }

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
			"Let everybody read the objects of the bucket (s3:GetObject), but not list them.")
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
	sign := func(r *http.Request) error {
		credentials, err := p.credentials.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("the control plane has no credentials for it: %w", err)
		}
		r.Header.Set("Content-Type", "text/plain; charset=utf-8")
		r.Header.Set("X-Amz-Content-Sha256", digest)
		return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
			SignHTTP(ctx, credentials, r, digest, "s3", p.region, time.Now())
	}
	status, body, err := p.do(ctx, http.MethodPut, address, content, maxAnswer, sign)
	what := ""
	switch {
	case err != nil:
		what = err.Error()
	case status != http.StatusOK:
		what = fmt.Sprintf("%d %s", status, explain(body))
	default:
		return nil
	}
	return failed(fmt.Sprintf("write a template into the bucket %s (region %s): %s", p.bucket, p.region, what),
		"The control plane needs s3:PutObject there.")
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
