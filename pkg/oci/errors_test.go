package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// TestReasons checks how the errors of the registry client are classified, and what each suggests to do. A response
// counts more than what it is wrapped in.
func TestReasons(t *testing.T) {
	repository := open(t, artifact.Reference{Host: "registry.example.com", Repository: "apps/web"}, Credential{})
	status := func(code int) error {
		address := &url.URL{Scheme: "https", Host: "registry.example.com", Path: "/v2/"}
		return &errcode.ErrorResponse{Method: http.MethodGet, URL: address, StatusCode: code}
	}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for _, test := range []struct {
		err    error
		reason Reason
		status int
		hint   string
	}{
		{status(401), Unauthorized, 401, "give a user name and password or token that this registry knows"},
		{auth.ErrBasicCredentialNotFound, Unauthorized, 0, "give a user name and password or token that this registry knows"},
		{status(403), Forbidden, 403, "let the credential pull in this repository, or use another credential"},
		{status(404), NotFound, 404, "check that it was pushed to this registry and not removed since"},
		{errdef.ErrNotFound, NotFound, 0, "check that it was pushed to this registry and not removed since"},
		{artifact.ErrDamaged, Damaged, 0, "nothing of it was used; remove it from the registry and build it again"},
		{errors.New("digest mismatch: a and b"), Damaged, 0,
			"nothing of it was used; remove it from the registry and build it again"},
		{artifact.ErrTooLarge, Oversized, 0, "make it smaller: leave out what a deploy does not need"},
		{errNoDeletion, NoDeletion, 0, "use the registry's own rules for retention"},
		{ErrUnsupported, Unsupported, 0, "push it in a newer format"},
		{ErrNotRegistry, NotRegistry, 0, "check the address"},
		{context.Canceled, Cancelled, 0, "run it again"}, {context.DeadlineExceeded, Cancelled, 0, "run it again"},
		{dial, Unreachable, 0, "check that the registry runs and can be reached from this machine"},
		{&url.Error{Op: "Get", URL: "https://x", Err: io.EOF}, Unreachable, 0,
			"check that the registry runs and can be reached from this machine"},
		{io.ErrUnexpectedEOF, Unreachable, 0, "check that the registry runs and can be reached from this machine"},
		{&url.Error{Op: "Get", URL: "https://x", Err: context.Canceled}, Cancelled, 0, "run it again"},
		{status(500), Rejected, 500, "look at the registry's own log"},
		{status(429), Rejected, 429, "look at the registry's own log"},
		{errors.Join(status(503), dial), Rejected, 503, "look at the registry's own log"},
		{errors.New("anything else"), Rejected, 0, "look at the registry's own log"},
	} {
		err := repository.explain("pull", "sha256:abc", fmt.Errorf("wrapped: %w", test.err))
		var explained *Error
		if !errors.As(err, &explained) || explained.Reason != test.reason || explained.Status != test.status ||
			!errors.Is(err, test.err) {
			t.Errorf("%v: %+v, want %s with the status %d", test.err, explained, test.reason, test.status)
			continue
		}
		begin := "pull sha256:abc at registry registry.example.com/apps/web: " + string(test.reason) + ": "
		if text := err.Error(); !strings.HasPrefix(text, begin) || !strings.HasSuffix(text, "; "+test.hint) ||
			!strings.Contains(text, test.err.Error()) {
			t.Errorf("%v is told as\n%s", test.err, text)
		}
	}
}

// TestErrorsHaveNoQuery: the address of a store of blobs, to which a registry redirects, has a signature in its query.
func TestErrorsHaveNoQuery(t *testing.T) {
	repository := open(t, artifact.Reference{Host: "registry.example.com", Repository: "apps/web"}, Credential{})
	address := &url.URL{Scheme: "https", Host: "store.example.com", Path: "/b", RawQuery: "signature=hidden"}
	for _, err := range []error{
		&errcode.ErrorResponse{Method: http.MethodGet, URL: address, StatusCode: 500},
		fmt.Errorf("manifest: %w", &url.Error{Op: "Get", URL: address.String(), Err: io.EOF}),
	} {
		text := repository.explain("pull", "sha256:1", err).Error()
		if strings.Contains(text, "hidden") || !strings.Contains(text, "https://store.example.com/b") {
			t.Error(text)
		}
	}
}
