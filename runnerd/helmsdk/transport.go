package helmsdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// bind ends every request, and the reading of its response, with ctx: the SDK makes
// its requests without a context.
func bind(ctx context.Context) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return binding{ctx: ctx, next: next} }
}

type binding struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip sends a request under both contexts, its own and that of the operation.
func (b binding) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.ctx.Err() != nil {
		closeBody(request)
		return nil, context.Cause(b.ctx)
	}
	both, cancel := context.WithCancelCause(request.Context())
	stop := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	end := func() { stop(); cancel(nil) }
	answer, err := b.next.RoundTrip(request.WithContext(both))
	if err != nil {
		end()
		if b.ctx.Err() != nil {
			return nil, context.Cause(b.ctx)
		}
		return nil, err
	}
	answer.Body = releasingBody{ReadCloser: answer.Body, end: end}
	return answer, nil
}

// releasingBody is a body that releases its contexts when it is closed.
type releasingBody struct {
	io.ReadCloser
	end func()
}

// Close closes the body.
func (e releasingBody) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

// readOnly refuses every request that could write, for the lookups of templates.
func readOnly(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		if reads(request) {
			return next.RoundTrip(request)
		}
		closeBody(request)
		return nil, fmt.Errorf("a template wants to %s %s; templates can only read", request.Method, request.URL.Path)
	})
}

// dryRun marks every writing request as a dry run, and refuses those that it cannot mark.
func dryRun(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		if reads(request) {
			return next.RoundTrip(request)
		}
		marked, err := asDryRun(request)
		if err != nil {
			closeBody(request)
			return nil, err
		}
		return next.RoundTrip(marked)
	})
}

// connectSubresources are subresources that have effects although they are read.
var connectSubresources = []string{"exec", "attach", "portforward", "proxy"}

// reads reports whether a request changes nothing.
func reads(request *http.Request) bool {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		return false
	}
	for _, name := range connectSubresources {
		if strings.Contains(request.URL.Path+"/", "/"+name+"/") && strings.Contains(request.URL.Path, "/pods/") ||
			name == "proxy" && strings.Contains(request.URL.Path+"/", "/proxy/") {
			return false
		}
	}
	return true
}

// maxOptions bounds the body of a deletion, which holds only options, in bytes.
const maxOptions = 64 << 10

// asDryRun returns the request with dryRun=All. A deletion has its options in the
// body, and the server then ignores those in the address.
func asDryRun(request *http.Request) (*http.Request, error) {
	marked := request.Clone(request.Context())
	query := marked.URL.Query()
	query.Set("dryRun", "All")
	marked.URL.RawQuery = query.Encode()
	switch request.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return marked, nil
	case http.MethodDelete:
		return marked, markOptions(marked)
	}
	return nil, fmt.Errorf("a request %s %s cannot be a dry run; this is a bug in nuon; report it", request.Method,
		request.URL.Path)
}

// markOptions sets the dry run in the options of a deletion.
func markOptions(request *http.Request) error {
	options := map[string]any{}
	if request.Body != nil {
		body, err := io.ReadAll(io.LimitReader(request.Body, maxOptions))
		if err := errors.Join(err, request.Body.Close()); err != nil {
			return fmt.Errorf("read the options of a deletion: %w", err)
		}
		if len(body) > 0 {
			if err := json.Unmarshal(body, &options); err != nil {
				return fmt.Errorf(
					"the options of a deletion are not JSON, so that it cannot be a dry run; this is a bug in nuon; report it: %w",
					err)
			}
		}
	}
	if options == nil {
		options = map[string]any{} // the body was null
	}
	options["dryRun"] = []string{"All"}
	encoded, err := json.Marshal(options)
	if err != nil {
		return err
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(encoded)), int64(len(encoded))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(encoded)), nil }
	request.Header.Set("Content-Type", "application/json")
	return nil
}

// closeBody closes the body of a request that is not sent, as a RoundTripper must.
func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
