package netguard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// Problem describes a failed request to the person who wrote the address.
type Problem struct {
	// Why states what is wrong, lower case and without a full stop. It contains no URL, because a
	// URL may hold a credential.
	Why string
	// Remedy states what to do: imperative, lower case.
	Remedy string
	// Temporary is true if a later request may succeed.
	Temporary bool
}

// Describe describes an error of a Transport, a Dialer or CheckRedirect, and network errors in
// general. It returns false for other errors. The remedy for a *BlockedError is general: a program
// that has a setting for the kinds of addresses names it there.
func Describe(err error) (Problem, bool) {
	var (
		request    *url.Error
		blocked    *BlockedError
		redirected *RedirectError
		scheme     *UnsupportedSchemeError
		lookup     *net.DNSError
		unproven   *tls.CertificateVerificationError
		late       net.Error
		dial       *net.OpError
	)
	if errors.As(err, &request) {
		err = request.Err // request repeats the URL
	}
	const check, later = "check the address", "try again later"
	switch {
	case errors.As(err, &blocked):
		return Problem{Why: "its server " + OneLine(blocked.Error()), Remedy: "name a server on the internet"}, true
	case errors.As(err, &redirected):
		return Problem{Why: OneLine(redirected.Why), Remedy: "write the address that it leads to"}, true
	case errors.As(err, &scheme):
		return Problem{Why: "it leads to an address of scheme " + diagnostic.Quote(scheme.Scheme),
			Remedy: "write an https:// address"}, true
	case errors.Is(err, context.Canceled):
		return Problem{}, false
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return Problem{Why: "there is no server of the name " + OneLine(lookup.Name), Remedy: check}, true
	case errors.As(err, &lookup):
		return Problem{Why: "the name " + OneLine(lookup.Name) + " cannot be resolved", Remedy: later, Temporary: true}, true
	case errors.As(err, &unproven):
		return Problem{Why: "the server's certificate is not valid: " + OneLine(unproven.Error()),
			Remedy: "fix the certificate"}, true
	case errors.Is(err, ErrStalled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return Problem{Why: "the server did not answer in time", Remedy: later, Temporary: true}, true
	case errors.Is(err, syscall.ECONNREFUSED):
		return Problem{Why: "the server refuses connections", Remedy: check + ", or " + later, Temporary: true}, true
	case errors.As(err, &dial), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return Problem{Why: "the connection to the server broke", Remedy: later, Temporary: true}, true
	}
	return Problem{}, false
}

// DescribeStatus describes a response with an HTTP status other than success.
func DescribeStatus(status int) Problem {
	answer := strings.TrimSpace(fmt.Sprintf("the server answered %d %s", status, http.StatusText(status)))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Problem{Why: answer, Remedy: "add a credential that may read it"}
	case status == http.StatusNotFound || status == http.StatusGone:
		return Problem{Why: answer, Remedy: "check the address; what is private also needs a credential"}
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status >= http.StatusInternalServerError:
		return Problem{Why: answer, Remedy: "try again later", Temporary: true}
	}
	return Problem{Why: answer, Remedy: "check the address"}
}

// OneLine returns untrusted text on one line of bounded length, without control characters.
func OneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
