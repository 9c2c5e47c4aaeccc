package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// RepoError is the reason why a repository cannot be read, for the person who can fix it. It is
// stored with the watch, and the next poll checks it again; it is not a fault of the control
// plane.
type RepoError struct {
	// Message is a sentence that ends with what to do.
	Message string
	// Err is the cause, if there is one.
	Err error
}

// Error returns the message.
func (e *RepoError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *RepoError) Unwrap() error { return e.Err }

// repoErrorf returns a RepoError without a cause.
func repoErrorf(format string, arguments ...any) *RepoError {
	return &RepoError{Message: fmt.Sprintf(format, arguments...)}
}

// asRepoError converts an error of the communication with a server into a RepoError. It returns a
// canceled context's error unchanged.
func asRepoError(ctx context.Context, url string, err error) error {
	var repoErr *RepoError
	if err == nil || ctx.Err() != nil {
		return err
	}
	if errors.As(cause(err), &repoErr) {
		return repoErr
	}
	return &RepoError{Message: gitErrorMessage(url, cause(err)), Err: err}
}

// cause removes the wrappers of the git library that hide their cause.
func cause(err error) error {
	for {
		var unexpected *plumbing.UnexpectedError
		var permanent *plumbing.PermanentError
		switch {
		case errors.As(err, &unexpected):
			err = unexpected.Err
		case errors.As(err, &permanent):
			err = permanent.Err
		default:
			return err
		}
	}
}

func gitErrorMessage(url string, err error) string {
	var (
		answer   *githttp.Err
		dial     *net.OpError
		lookup   *net.DNSError
		unproven *tls.CertificateVerificationError
		limit    *gitpack.LimitError
		blocked  *netguard.BlockedError
	)
	switch {
	case errors.As(err, &blocked):
		return blockedMessage(blocked)
	case errors.Is(err, netguard.ErrStalled):
		return url + " stopped sending; it is polled again later"
	case errors.Is(err, transport.ErrAuthenticationRequired):
		return url + " requires a credential, or rejects the one used; add one with " +
			"`nuon credentials create` and name it for the app"
	case errors.Is(err, transport.ErrAuthorizationFailed):
		return url + " accepts the credential but denies read access; give its token read access to the repository's contents"
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return url + " does not exist, or this credential has no access; check the address, and that the token may read it"
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return url + " has no commits yet; push one"
	case errors.Is(err, gitpack.ErrNotServed):
		return url + " does not serve this commit: no branch or tag contains it; push it to a branch, or name a " +
			"branch or tag"
	case errors.Is(err, gitpack.ErrShallow):
		return url + " does not serve shallow histories, which nuon needs; use a server that speaks git's smart " +
			"protocol in full"
	case errors.As(err, &limit):
		return fmt.Sprintf("%s sends more than may be read (%v); keep large files out of the repository", url, limit)
	case errors.Is(err, gitpack.ErrMalformed):
		return fmt.Sprintf("%s cannot be read (%s); run `git fsck` there", url, PlainText(err.Error(), 300))
	case errors.As(err, &lookup):
		return fmt.Sprintf("the name %s is not known; check the address, and the name server of the control plane's machine",
			PlainText(lookup.Name, 200))
	case errors.As(err, &unproven):
		return url + " has a certificate that cannot be verified: " + PlainText(unproven.Error(), 300) +
			"; add its authority's certificate to the system's trusted certificates"
	case errors.As(err, &answer):
		return fmt.Sprintf("%s answers with HTTP status %d; check the address, and whether the server is healthy", url,
			answer.StatusCode())
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return url + " lacks objects of its own history; run `git fsck` there, or push the branch again"
	case errors.As(err, &dial):
		return fmt.Sprintf("%s cannot be reached (%s); check the address, and that the control plane may connect to it",
			url, PlainText(dial.Err.Error(), 200))
	}
	return fmt.Sprintf("%s cannot be read (%s); check that it is a git repository", url, PlainText(err.Error(), 300))
}

// PlainText returns untrusted text as one line of bounded length, without control characters and
// with valid UTF-8.
func PlainText(text string, most int) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	clean = strings.TrimSpace(clean)
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return clean
}
