// Package registrylogin logs in to the registries of clouds: Amazon ECR, Google Artifact Registry and Azure
// Container Registry. It logs in with the identity that this program has in the cloud, or with a role, a service
// account or an application that it acts as. A login is valid for hours, and is replaced before it expires.
//
// It sends logins and tokens only to hosts of the clouds, and never reads or writes images.
package registrylogin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Identity is who logs in. The zero value is the program's own identity.
type Identity struct {
	// Role is the ARN of a role of AWS to assume, and ExternalID the external id for it.
	Role, ExternalID string
	// ServiceAccount is the email address of a service account of Google to act as. WorkloadProvider is the
	// workload identity provider that accepts this program's identity in AWS for it.
	ServiceAccount, WorkloadProvider string
	// Tenant and Client are an application of Azure, and Secret its secret or, if Certificate is set, its
	// certificate and key in PEM.
	Tenant, Client string
	Secret         seal.Secret
	Certificate    bool
}

// login is a user name and a password that a registry accepts until a time.
type login struct {
	username string
	password seal.Secret
	expires  time.Time
}

// provider logs in to the registries of one cloud.
type provider interface {
	login(ctx context.Context) (login, error)
}

// creator is a provider whose repositories must exist before something is pushed to them.
type creator interface {
	create(ctx context.Context, repository string) error
}

// renewBefore is the rest of a login's time in which it is not used any more, so that a copy which begins
// with it can end.
const renewBefore = 20 * time.Minute

// Session logs in to one registry. It is safe for concurrent use.
type Session struct {
	host string
	as   provider
	now  func() time.Time

	mu      sync.Mutex
	current login
}

// New returns a session for a registry. client sends the requests for logins; nil means the default ones of
// the clouds' libraries.
func New(host string, as Identity, client *http.Client) (*Session, error) {
	host = strings.ToLower(host)
	s := &Session{host: host, now: time.Now}
	switch image.Cloud(host) {
	case image.AWS:
		s.as = ecrLogin{region: image.ECRRegion(host), identity: as, client: client}
	case image.GCP:
		s.as = garLogin{identity: as, client: client}
	case image.Azure:
		s.as = newACRLogin(host, as, client)
	default:
		return nil, fmt.Errorf("log in to registry %.200q: it is no registry of AWS, Google Cloud or Azure", host)
	}
	return s, nil
}

// Credential returns the user name and the password for the registry. It logs in if there is no login that is
// valid for a while.
func (s *Session) Credential(ctx context.Context) (username, password string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Add(renewBefore).After(s.current.expires) {
		made, err := s.as.login(ctx)
		if err != nil {
			return "", "", fmt.Errorf("log in to registry %s: %w", s.host, err)
		}
		s.current = made
	}
	return s.current.username, string(s.current.password.Reveal()), nil
}

// uploadPath is the path of the request that begins an upload. Its group is the repository.
var uploadPath = lazyregexp.New(`^/v2/(.+)/blobs/uploads/?$`)

// Transport returns a transport to the registry over base. Where the cloud requires that, it creates a repository
// when an upload finds that it is missing.
func (s *Session) Transport(base http.RoundTripper) http.RoundTripper {
	creates, does := s.as.(creator)
	switch {
	case base == nil:
		base = http.DefaultTransport
	case !does:
		return base
	}
	return transport{creator: creates, host: s.host, base: base}
}

type transport struct {
	creator
	host string
	base http.RoundTripper
}

// RoundTrip sends a request, and once more after it created the repository.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusNotFound || request.Method != http.MethodPost ||
		request.Body != nil && request.Body != http.NoBody || request.URL.Host != t.host {
		return response, err
	}
	path := uploadPath.FindStringSubmatch(request.URL.Path)
	if path == nil {
		return response, nil
	}
	_ = response.Body.Close() // nothing more is read
	if err := t.create(request.Context(), path[1]); err != nil {
		return denied(request, fmt.Sprintf("the repository is missing, and cannot be created: %v", err))
	}
	return t.base.RoundTrip(request)
}

// denied returns a response in the form of the OCI distribution specification.
func denied(request *http.Request, message string) (*http.Response, error) {
	content, err := json.Marshal(map[string]any{"errors": []any{map[string]string{"code": "DENIED", "message": message}}})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(content)),
		ContentLength: int64(len(content)), Request: request,
	}, nil
}
