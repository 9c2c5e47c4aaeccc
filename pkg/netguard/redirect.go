package netguard

import (
	"fmt"
	"net/http"
)

// maxRedirects is the number of redirects that are followed.
const maxRedirects = 5

// RedirectError reports a redirect that is not followed.
type RedirectError struct {
	// Why describes the redirect, such as "it is redirected from https to http".
	Why string
}

// Error describes the redirect.
func (e *RedirectError) Error() string { return e.Why }

// CheckRedirect is the CheckRedirect function for an http.Client. It follows at most five
// redirects, none that leaves https, and none to a URL with a password. The transport checks each
// address that a redirect leads to.
func CheckRedirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	next.Header.Del("Referer") // may hold a signature
	switch {
	case len(via) > maxRedirects:
		return &RedirectError{fmt.Sprintf("it is redirected more than %d times", maxRedirects)}
	case next.URL.User != nil:
		return &RedirectError{"it is redirected to an address with a user name or a password"}
	case last.Scheme == "https" && next.URL.Scheme != "https":
		return &RedirectError{fmt.Sprintf("it is redirected from https to %.20s", next.URL.Scheme)}
	}
	return nil
}
