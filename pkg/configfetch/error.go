package configfetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// Error reports why a reference could not be read, to the person who wrote it. It does not contain
// the reference, which may be confidential; the caller has it.
type Error struct {
	// Why states what is wrong, without a full stop.
	Why string
	// Remedy states what to do about it: imperative, lower case.
	Remedy string
	// Temporary is true if the problem may be temporary.
	Temporary bool
}

// Error returns Why.
func (e *Error) Error() string { return e.Why }

// Hint returns Remedy.
func (e *Error) Hint() string { return e.Remedy }

// permanent returns an Error that only a change to the reference, or to its target, can fix.
func permanent(why, remedy string) *Error { return &Error{Why: why, Remedy: remedy} }

// localFileRemedy is the remedy that always works.
const localFileRemedy = "put the file beside the config and write ./name"

const syncAgain = "run `nuon sync` again later, or " + localFileRemedy

func temporary(why string) *Error { return &Error{Why: why, Remedy: syncAgain, Temporary: true} }

// errBudgetExceeded reports that a server sent more than may be read.
var errBudgetExceeded = errors.New("too much")

// explain converts a failure to an Error. It returns an Error unchanged.
func explain(err error) *Error {
	if found := explainKnown(err); found != nil {
		return found
	}
	text := sanitize(cause(err).Error(), 200)
	if strings.Contains(text, "://") {
		text = "the server's answer cannot be used" // a URL may be confidential
	}
	return permanent(text, "check the address, or "+localFileRemedy)
}

// explainKnown is explain for errors with a specific message; it returns nil for other errors.
func explainKnown(err error) *Error {
	err = cause(err)
	var (
		known      *Error
		blocked    *netguard.BlockedError
		redirected *netguard.RedirectError
		scheme     *netguard.UnsupportedSchemeError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &blocked):
		return explainBlocked(blocked)
	case errors.As(err, &redirected):
		return permanent(redirected.Why, "write the address that it leads to, or "+localFileRemedy)
	case errors.As(err, &scheme):
		return permanent("it leads to an address that is none of the web", "check the address, or "+localFileRemedy)
	}
	if found := explainGit(err); found != nil {
		return found
	}
	return explainNetwork(err)
}

// explainNetwork is explain for network errors of any server; it returns nil for other errors.
func explainNetwork(err error) *Error {
	var (
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		timeout     net.Error
		dial        *net.OpError
		disk        *fs.PathError
	)
	switch {
	case errors.Is(err, errBudgetExceeded), errors.Is(err, gitpack.ErrLimit):
		return permanent("more is sent than may be read", "make it smaller, or "+localFileRemedy)
	case errors.As(err, &lookup):
		return unknownName(lookup)
	case errors.As(err, &certificate):
		return permanent("the server has a certificate that cannot be verified: "+sanitize(certificate.Error(), 200),
			"fix its certificate, or "+localFileRemedy)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return temporary("it did not come in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return temporary("the server refuses connections")
	case errors.As(err, &disk):
		return temporary("there was no room to keep it for a moment")
	case errors.As(err, &dial), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, http.ErrServerClosed):
		return temporary("the connection to the server broke")
	}
	return nil
}

// unknownName explains a failed lookup. It leaves out the name server, which concerns only the
// operator of this program.
func unknownName(lookup *net.DNSError) *Error {
	name := sanitize(lookup.Name, 200)
	if lookup.IsNotFound {
		return permanent("there is no server of the name "+name, "check the address, or "+localFileRemedy)
	}
	return temporary("the name " + name + " could not be looked up")
}

// explainGit is explain for errors of the git library; it returns nil for other errors.
func explainGit(err error) *Error {
	var response *githttp.Err
	switch {
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return permanent("the server asks who wants to read the repository, or has none of that name",
			"check the address; when it is private, "+localFileRemedy)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return permanent("there is no such repository", "check the address, or "+localFileRemedy)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return permanent("the repository is empty", "push the file, or "+localFileRemedy)
	case errors.Is(err, gitpack.ErrNotServed):
		return permanent("the server does not give that commit, to which no branch or tag leads any more",
			"write a branch or a tag in ?ref=, or push the commit again")
	case errors.Is(err, errPack), errors.Is(err, gitpack.ErrMalformed):
		return permanent("what the server sends is no git repository's data", "run `git fsck` there, or "+localFileRemedy)
	case errors.As(err, &response):
		return explainStatus(response.StatusCode())
	}
	return nil
}

// explainStatus explains an HTTP status other than success.
func explainStatus(status int) *Error {
	text := fmt.Sprintf("the server answers %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return permanent(strings.TrimSpace(text)+": not everybody may read it", "make it public, or "+localFileRemedy)
	case status == http.StatusNotFound || status == http.StatusGone:
		return permanent(strings.TrimSpace(text)+": there is no such file, or not for everybody",
			"check the address, or "+localFileRemedy)
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status >= http.StatusInternalServerError:
		return temporary(strings.TrimSpace(text))
	}
	return permanent(strings.TrimSpace(text), "check the address, or "+localFileRemedy)
}

// cause unwraps errors of the git library, which hide their causes, and of the HTTP client, which
// repeat the URL.
func cause(err error) error {
	for {
		var unexpected *plumbing.UnexpectedError
		var permanent *plumbing.PermanentError
		var request *url.Error
		switch {
		case errors.As(err, &unexpected):
			err = unexpected.Err
		case errors.As(err, &permanent):
			err = permanent.Err
		case errors.As(err, &request):
			err = request.Err
		default:
			return err
		}
	}
}
