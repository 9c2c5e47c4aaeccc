// Package apiclient is the CLI's client of the control API. It adds the address and token of the
// selected context, checks responses, decodes them into values or into errors with a remedy,
// and reads server-sent events. Every command calls the control plane through this package.
package apiclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// Client calls one control plane. The generated client makes the requests; Get
// decodes their responses.
type Client struct {
	*api.Client
	URL string
}

// maxResponseBytes is the maximum size of a JSON response, and maxProblemBytes that of
// an error response, in bytes.
const (
	maxResponseBytes = 256 << 20
	maxProblemBytes  = 4 << 20
)

// New returns a client for a context. Each of around wraps the transport, such as Debug.
func New(c contexts.Context, wrappers ...func(http.RoundTripper) http.RoundTripper) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return nil, exitcode.Usagef("invalid control plane address %q: use a URL such as http://127.0.0.1:7110", c.URL)
	}
	introduce := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+c.Token)
		r.Header.Set(version.HeaderAPI, strconv.Itoa(version.API))
		return nil
	}
	transport := http.DefaultTransport
	for _, a := range wrappers {
		transport = a(transport)
	}
	client, err := api.NewClient(c.URL, api.WithRequestEditorFn(introduce),
		api.WithHTTPClient(&http.Client{
			Transport: retryTransport{idleTimeoutTransport{transport}},
			// A token is for one host, and the control API never redirects.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}))
	if err != nil {
		return nil, err
	}
	return &Client{Client: client, URL: c.URL}, nil
}

// Decode decodes the response to a request of the generated client.
func Decode[T any](r *http.Response, err error) (T, error) {
	var out T
	if err := checkResponse(r, err); err != nil {
		return out, err
	}
	defer r.Body.Close() //nolint:errcheck // what matters was read
	err = decodeJSON(r.Body, maxResponseBytes, &out)
	return out, err
}

// decodeJSON decodes JSON of at most limit bytes.
func decodeJSON(body io.Reader, limit int64, out any) error {
	bounded := &io.LimitedReader{R: body, N: limit}
	err := json.NewDecoder(bounded).Decode(out)
	switch {
	case err == nil:
		return nil
	case bounded.N <= 0:
		err = fmt.Errorf(
			"the response is larger than %d MB and not from the API; check the address with `nuon context list`",
			limit>>20)
	case isMalformed(err):
		err = fmt.Errorf("the response is not from the API: %w; check the address with `nuon context list`", err)
	case errors.Is(err, context.Canceled):
		return exitcode.Interrupted
	default:
		err = fmt.Errorf(
			"the response was cut off: %w; try again, or run `nuon doctor` to check the control plane", err)
	}
	return exitcode.With(exitcode.Unreachable, err)
}

// isMalformed reports whether a response is complete but invalid.
func isMalformed(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.EOF)
}

// CheckDone checks the response to a request without a result.
func CheckDone(r *http.Response, err error) error {
	if err := checkResponse(r, err); err != nil {
		return err
	}
	return r.Body.Close()
}

// checkResponse returns an error for every response except success, and then closes its body.
func checkResponse(r *http.Response, err error) error {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return exitcode.Interrupted
		}
		return exitcode.With(exitcode.Unreachable,
			fmt.Errorf("cannot reach the control plane: %w; run `nuon doctor` to check that it is running", err))
	}
	if err := sameGeneration(r); err != nil {
		_ = r.Body.Close() // it may be in an unknown format
		return err
	}
	if r.StatusCode < 300 {
		return nil
	}
	defer r.Body.Close() //nolint:errcheck // the error is what matters
	p := api.Problem{Status: r.StatusCode, Title: r.Status}
	if b, err := io.ReadAll(io.LimitReader(r.Body, maxProblemBytes)); err == nil {
		_ = json.Unmarshal(b, &p) // a response that is no problem document keeps the status line
	}
	p.Title = cmp.Or(p.Title, r.Status)
	if to, err := r.Location(); err == nil && r.StatusCode < 400 {
		return exitcode.With(exitcode.Unreachable, fmt.Errorf("%s://%s responded with %s to %s://%s, which is not followed, "+
			"because the token is for one address; if the control plane moved there, change the address with "+
			"`nuon context add`", r.Request.URL.Scheme, r.Request.URL.Host, r.Status, to.Scheme, to.Host))
	}
	strange := p.Code == "" && (r.StatusCode < 400 || r.StatusCode == http.StatusNotFound ||
		r.StatusCode == http.StatusMethodNotAllowed || r.StatusCode >= http.StatusInternalServerError)
	if strange || p.Code == codeNoRoute {
		err := fmt.Errorf("%s://%s responded with %s, which a control plane "+
			"of this version never does; check the address with `nuon context list`, and both versions",
			r.Request.URL.Scheme, r.Request.URL.Host, r.Status)
		if p.Code == codeNoRoute {
			err = noRouteError{err}
		}
		return exitcode.With(exitcode.Unreachable, err)
	}
	return &Problem{p}
}
