package netguard_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	secret := func(err error) error { return &url.Error{Op: "Get", URL: "https://h/?token=secret", Err: err} }
	for name, test := range map[string]struct {
		err       error
		why       string
		temporary bool
	}{
		"blocked":    {&netguard.BlockedError{Host: "h", Kind: netguard.Private}, "private network", false},
		"redirected": {&netguard.RedirectError{Why: "it is redirected from https to http"}, "from https to http", false},
		"scheme":     {&netguard.UnsupportedSchemeError{Scheme: "ftp"}, `"ftp"`, false},
		"no name":    {&net.DNSError{Name: "nowhere", IsNotFound: true, Server: "10.9.8.7"}, "name nowhere", false},
		"lookup":     {&net.DNSError{Name: "slow", Server: "10.9.8.7"}, "cannot be resolved", true},
		"unproven":   {&tls.CertificateVerificationError{Err: errors.New("unknown authority")}, "certificate", false},
		"stalled":    {netguard.ErrStalled, "in time", true},
		"deadline":   {context.DeadlineExceeded, "in time", true},
		"refused":    {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "refuses connections", true},
		"broken":     {io.ErrUnexpectedEOF, "connection", true},
	} {
		got, known := netguard.Describe(secret(fmt.Errorf("x: %w", test.err)))
		if !known || !strings.Contains(got.Why, test.why) || got.Temporary != test.temporary || got.Remedy == "" {
			t.Errorf("%s: %t, %+v", name, known, got)
		}
		if text := got.Why + got.Remedy; strings.Contains(text, "secret") || strings.Contains(text, "10.9.8.7") {
			t.Errorf("%s: %q shows what it must not", name, text)
		}
	}
	for _, err := range []error{nil, errors.New("else"), context.Canceled} {
		if got, known := netguard.Describe(err); known {
			t.Errorf("%v: %+v", err, got)
		}
	}
}

func TestDescribeStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		remedy    string
		temporary bool
	}{
		401: {"credential", false}, 403: {"credential", false}, 404: {"check the address", false},
		410: {"check the address", false}, 418: {"check the address", false},
		429: {"later", true}, 500: {"later", true}, 503: {"later", true},
	} {
		got := netguard.DescribeStatus(status)
		if !strings.Contains(got.Why, fmt.Sprint(status)) || !strings.Contains(got.Remedy, want.remedy) ||
			got.Temporary != want.temporary {
			t.Errorf("%d: %+v", status, got)
		}
	}
}

func TestDialerChecksTheAddress(t *testing.T) {
	t.Parallel()
	at := raw(t, silent)
	for _, test := range []struct {
		allowed []netguard.Kind
		opens   bool
	}{{nil, false}, {[]netguard.Kind{netguard.Public}, false}, {[]netguard.Kind{netguard.Loopback}, true}} {
		opened, err := netguard.Dialer(netguard.Options{}, "ssh", test.allowed)(t.Context(), "tcp", at)
		var blocked *netguard.BlockedError
		if test.opens != (err == nil) || err != nil && (!errors.As(err, &blocked) || blocked.Scheme != "ssh") {
			t.Errorf("%v: %v", test.allowed, err)
		}
		if err == nil {
			_ = opened.Close()
		}
	}
}
