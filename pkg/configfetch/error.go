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
	// Passing is true if the problem may be temporary.
	Passing bool
}

// Error returns Why.
func (e *Error) Error() string { return e.Why }

// Hint returns Remedy.
func (e *Error) Hint() string { return e.Remedy }

// refuse returns an Error that only a change to the reference, or to its target, can fix.
func refuse(why, remedy string) *Error { return &Error{Why: why, Remedy: remedy} }

// besides is the remedy that always works.
const besides = "put the file beside the config and write ./name"

const syncAgain = "run `nuon sync` again later, or " + besides

func passing(why string) *Error { return &Error{Why: why, Remedy: syncAgain, Passing: true} }

// errTooMuch reports that a server sent more than may be read.
var errTooMuch = errors.New("too much")

// explain converts a failure to an Error. It returns an Error unchanged.
func explain(err error) *Error {
	if found := explainKnown(err); found != nil {
		return found
	}
	text := plain(cause(err).Error(), 200)
	if strings.Contains(text, "://") {
		text = "the server's answer cannot be used" // a URL may be confidential
	}
	return refuse(text, "check the address, or "+besides)
}

// explainKnown is explain for errors with a specific message; it returns nil for other errors.
func explainKnown(err error) *Error {
	err = cause(err)
	var (
		known      *Error
		blocked    *netguard.BlockedError
		redirected *netguard.RedirectError
		scheme     *netguard.SchemeError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &blocked):
		return explainBlocked(blocked)
	case errors.As(err, &redirected):
		return refuse(redirected.Why, "write the address that it leads to, or "+besides)
	case errors.As(err, &scheme):
		return refuse("it leads to an address that is none of the web", "check the address, or "+besides)
	}
	if found := explainGit(err); found != nil {
		return found
	}
	return explainNetwork(err)
}

// explainNetwork is explain for network errors of any server; it returns nil for other errors.
func explainNetwork(err error) *Error {
	var (
		lookup   *net.DNSError
		unproven *tls.CertificateVerificationError
		late     net.Error
		dial     *net.OpError
		disk     *fs.PathError
	)
	switch {
	case errors.Is(err, errTooMuch), errors.Is(err, gitpack.ErrTooMuch):
		return refuse("more is sent than may be read", "make it smaller, or "+besides)
	case errors.As(err, &lookup):
		return unknownName(lookup)
	case errors.As(err, &unproven):
		return refuse("the server does not prove who it is: "+plain(unproven.Error(), 200),
			"mend its certificate, or "+besides)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return passing("it did not come in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return passing("the server refuses connections")
	case errors.As(err, &disk):
		return passing("there was no room to keep it for a moment")
	case errors.As(err, &dial), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, http.ErrServerClosed):
		return passing("the connection to the server broke")
	}
	return nil
}

// unknownName explains a failed lookup. It leaves out the name server, which concerns only the
// operator of this program.
func unknownName(lookup *net.DNSError) *Error {
	name := plain(lookup.Name, 200)
	if lookup.IsNotFound {
		return refuse("there is no server of the name "+name, "check the address, or "+besides)
	}
	return passing("the name " + name + " could not be looked up")
}

// explainGit is explain for errors of the git library; it returns nil for other errors.
func explainGit(err error) *Error {
	var answer *githttp.Err
	switch {
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return refuse("the server asks who wants to read the repository, or has none of that name",
			"check the address; when it is private, "+besides)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return refuse("there is no such repository", "check the address, or "+besides)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return refuse("the repository is empty", "push the file, or "+besides)
	case errors.Is(err, gitpack.ErrNotGiven):
		return refuse("the server does not give that commit, to which no branch or tag leads any more",
			"write a branch or a tag in ?ref=, or push the commit again")
	case errors.Is(err, errPack), errors.Is(err, gitpack.ErrMalformed):
		return refuse("what the server sends is no git repository's data", "run `git fsck` there, or "+besides)
	case errors.As(err, &answer):
		return explainStatus(answer.StatusCode())
	}
	return nil
}

// explainStatus explains an HTTP status other than success.
func explainStatus(status int) *Error {
	said := fmt.Sprintf("the server answers %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return refuse(strings.TrimSpace(said)+": not everybody may read it", "make it public, or "+besides)
	case status == http.StatusNotFound || status == http.StatusGone:
		return refuse(strings.TrimSpace(said)+": there is no such file, or not for everybody",
			"check the address, or "+besides)
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status >= http.StatusInternalServerError:
		return passing(strings.TrimSpace(said))
	}
	return refuse(strings.TrimSpace(said), "check the address, or "+besides)
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
