package modules

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Credential authenticates to a registry or to a server of packages. The zero value is anonymous.
// Every way to convert it to text hides it.
type Credential struct {
	kind   credentialKind
	user   string
	secret seal.Secret
	hosts  string
}

type credentialKind int

const (
	anonymous credentialKind = iota
	bearer
	basic
	sshKey
)

// Bearer returns a credential with a token, as registries use it. A git server gets the token as the
// password of HTTP Basic.
func Bearer(token seal.Secret) Credential { return Credential{kind: bearer, secret: token} }

// Basic returns a credential with a user name, which may be empty, and a password or token.
func Basic(user string, password seal.Secret) Credential {
	return Credential{kind: basic, user: user, secret: password}
}

// SSHKey returns a credential with a private key in PEM without a passphrase. knownHosts are the
// host keys of the server, in the form of an OpenSSH known_hosts file; those of github.com,
// gitlab.com and bitbucket.org are built in.
func SSHKey(key seal.Secret, knownHosts string) Credential {
	return Credential{kind: sshKey, secret: key, hosts: knownHosts}
}

// IsZero reports whether the credential is anonymous.
func (c Credential) IsZero() bool { return c.kind == anonymous }

// String, GoString, Format and MarshalText never show the credential.
func (Credential) String() string               { return seal.Redacted }
func (Credential) GoString() string             { return seal.Redacted }
func (Credential) MarshalText() ([]byte, error) { return []byte(seal.Redacted), nil }

// Format implements fmt.Formatter.
func (Credential) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, seal.Redacted) }

// apply sets the Authorization header of a request.
func (c Credential) apply(request *http.Request, git bool) {
	switch {
	case c.kind == bearer && !git:
		request.Header.Set("Authorization", "Bearer "+string(c.secret.Reveal()))
	case c.kind == bearer, c.kind == basic:
		user := c.user
		if user == "" {
			user = "x-access-token" // any name does for tokens of GitHub and GitLab
		}
		request.SetBasicAuth(user, string(c.secret.Reveal()))
	}
}

// authorized sends a credential to the addresses that it is for, and to no other: not after a
// redirect to another server or to another repository of the same server.
type authorized struct {
	http.RoundTripper
	at         *url.URL
	credential Credential
	git        bool
}

// RoundTrip sends one request.
func (a authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	if !a.credential.IsZero() && covers(a.at, request.URL) {
		request = request.Clone(request.Context())
		a.credential.apply(request, a.git)
	}
	return a.RoundTripper.RoundTrip(request)
}

// covers reports whether an address is on the server of at and below its path.
func covers(at, address *url.URL) bool {
	if at.Scheme != address.Scheme || !strings.EqualFold(at.Host, address.Host) {
		return false
	}
	prefix := strings.TrimSuffix(at.Path, "/")
	rest, is := strings.CutPrefix(address.Path, prefix)
	return is && (rest == "" || strings.HasPrefix(rest, "/")) && !strings.Contains(rest, "/../")
}
