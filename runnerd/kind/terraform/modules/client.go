package modules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// dial opens a connection for ssh.
func (r *run) dial(ctx context.Context, host, address string) (net.Conn, error) {
	kinds := []netguard.Kind{netguard.Public}
	if r.options.AllowPrivate(host) {
		kinds = netguard.WithPrivate
	}
	return netguard.Dialer(netguard.Options{Resolver: r.options.Resolver}, "ssh", kinds)(ctx, "tcp", address)
}

// counted counts the bytes of all responses against the budget of the run.
type counted struct {
	http.RoundTripper
	budget *netguard.Budget
}

// RoundTrip sends one request.
func (c counted) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = c.budget.Limit(response.Body)
	}
	return response, err
}

// client returns the HTTP client for an address, with the address's credential.
func (r *run) client(at *url.URL, credential Credential, git bool) *http.Client {
	return &http.Client{CheckRedirect: netguard.CheckRedirect, Transport: authorized{
		RoundTripper: counted{r.transport, r.budget}, at: at, credential: credential, git: git}}
}

// credential returns the credential for an address without its query, or the one that the address
// itself holds.
func (r *run) credential(ctx context.Context, at *url.URL) (Credential, error) {
	bare := *at
	bare.RawQuery, bare.Fragment, bare.RawFragment = "", "", ""
	if bare.Scheme != "ssh" {
		bare.User = nil
	}
	found, err := r.options.Credentials(ctx, &bare)
	if err != nil {
		return Credential{}, &problem{netguard.Problem{Remedy: "build again later", Temporary: true,
			Why: fmt.Sprintf("the credential for %s cannot be read: %s", oneLine(bare.Host), withoutURL(err))}}
	}
	return found, nil
}

// tries bounds the tries of a request after temporary errors.
const tries = 3

// retry calls one until it succeeds or fails for good. one returns a problem, or an error that
// describe converts to one.
func (r *run) retry(ctx context.Context, what string, one func() error) error {
	for try := 1; ; try++ {
		err := r.describe(ctx, what, one())
		if err == nil || !IsTemporary(err) || try == tries || !backoff.Pause(ctx, r.pause) {
			return err
		}
	}
}

// get sends a GET request and passes a successful response to use.
func (r *run) get(ctx context.Context, client *http.Client, at *url.URL, use func(*http.Response) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return problemf("check the address", "it is not a URL")
	}
	request.URL.User = nil
	request.Header.Set("User-Agent", "nuon/"+version.Number)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // the close error does not matter: it was only read
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		return &problem{netguard.DescribeStatus(response.StatusCode)}
	}
	return use(response)
}

// spool copies at most limit bytes to a temporary file. The caller removes it with discard.
func spool(from io.Reader, limit int64) (file *os.File, size int64, err error) {
	if file, err = os.CreateTemp("", "nuon-module-"); err != nil {
		return nil, 0, fmt.Errorf("store a download: %w", err)
	}
	tooLarge := problemf("make it smaller, or call a module of a smaller package",
		"the download has more than %d bytes", limit)
	size, err = io.Copy(file, netguard.NewBudget(limit, tooLarge).Limit(io.NopCloser(from)))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, discard(file))
	}
	return file, size, nil
}

func discard(file *os.File) error { return errors.Join(file.Close(), os.Remove(file.Name())) }
