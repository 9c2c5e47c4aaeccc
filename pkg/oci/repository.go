package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// Credential authenticates to a registry. The zero value is anonymous.
type Credential struct {
	username string
	password seal.Secret
	token    seal.Secret
	renewed  func(ctx context.Context) (username, password string, err error)
}

// Basic returns a credential with a user name and a password. It also works with registries that
// exchange it for a token.
func Basic(username, password string) Credential {
	return Credential{username: username, password: seal.NewSecret([]byte(password))}
}

// Bearer returns a credential whose token is sent unchanged with every request, such as a runner's
// attempt token. The token is not sent after a redirect to another host.
func Bearer(token string) Credential {
	return Credential{token: seal.NewSecret([]byte(token))}
}

// Renewed returns a credential whose user name and password come from a function, which is called again when the
// registry does not accept them any more.
func Renewed(get func(ctx context.Context) (username, password string, err error)) Credential {
	return Credential{renewed: get}
}

// defaultMaxBytes bounds a layer when Repository.MaxBytes is zero.
const defaultMaxBytes = 256 << 20

// maxManifestBytes bounds a manifest. Manifests of nuon have less than 2 KiB.
const maxManifestBytes = 1 << 20

// Repository is one repository of a registry. It is safe for concurrent use.
type Repository struct {
	// MaxBytes is the maximum size of a layer that is pushed or pulled; zero means 256 MiB.
	MaxBytes int64

	reference artifact.Reference
	remote    *remote.Repository
}

// Open creates a client for a repository. It does not connect.
func Open(reference artifact.Reference, credential Credential) (*Repository, error) {
	return OpenClient(reference, credential, &http.Client{})
}

// OpenClient creates a client for a repository that sends its requests with client, also those to
// the registry's token service. It does not connect.
func OpenClient(reference artifact.Reference, credential Credential, client *http.Client) (*Repository, error) {
	opened, err := remote.NewRepository(reference.String())
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", reference, err)
	}
	if opened.Reference.Reference != "" {
		return nil, fmt.Errorf("open repository %s: leave out the tag or digest", reference)
	}
	opened.PlainHTTP = reference.PlainHTTP
	retrying := *client
	retrying.Transport = newTransport(client.Transport)
	opened.Client = newAuthClient(opened.Reference.Host(), credential, &retrying)
	opened.SkipReferrersGC = true
	opened.ReferrerListMaxPages = maxPages
	return &Repository{reference: reference, remote: opened}, nil
}

func newAuthClient(host string, credential Credential, client *http.Client) remote.Client {
	authClient := &auth.Client{
		Client: client,
		Header: http.Header{"User-Agent": {"nuon"}},
		Cache:  auth.NewCache(),
	}
	if !credential.token.IsZero() {
		return bearerClient{client: authClient, token: credential.token}
	}
	if credential.renewed != nil {
		authClient.Credential = func(ctx context.Context, asking string) (auth.Credential, error) {
			if asking != host {
				return auth.EmptyCredential, nil
			}
			username, password, err := credential.renewed(ctx)
			return auth.Credential{Username: username, Password: password}, err
		}
	}
	if !credential.password.IsZero() {
		authClient.Credential = auth.StaticCredential(host, auth.Credential{
			Username: credential.username,
			Password: string(credential.password.Reveal()),
		})
	}
	return authClient
}

// bearerClient sends a fixed token with each request, without waiting for a challenge. The client
// below it removes the header when a redirect leaves the original host.
type bearerClient struct {
	client *auth.Client
	token  seal.Secret
}

// Do sends one request of package remote.
func (b bearerClient) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+string(b.token.Reveal()))
	return b.client.Do(request)
}

// Reader sends requests that read from the repositories of one registry. It does not repeat them. It is safe for
// concurrent use.
type Reader struct {
	host       string
	credential Credential
	client     *http.Client

	mu    sync.Mutex
	auth  remote.Client
	since time.Time
}

// readerLife is how long a Reader uses what a registry accepted: a credential that is renewed is looked up again
// before it expires, because some registries answer an expired one with 403.
const readerLife = 10 * time.Minute

// NewReader returns a Reader that sends the credential, or the token that the registry issues for it.
func NewReader(host string, credential Credential, client *http.Client) *Reader {
	return &Reader{host: host, credential: credential, client: client}
}

func (r *Reader) authenticated() remote.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.auth == nil || time.Since(r.since) > readerLife {
		r.auth, r.since = newAuthClient(r.host, r.credential, r.client), time.Now()
	}
	return r.auth
}

// Do sends a request to read from a repository.
func (r *Reader) Do(request *http.Request, repository string) (*http.Response, error) {
	reference := registry.Reference{Registry: r.host, Repository: repository}
	return r.authenticated().Do(request.WithContext(auth.AppendRepositoryScope(request.Context(), reference, auth.ActionPull)))
}

// Reference returns the reference that was opened.
func (r *Repository) Reference() artifact.Reference { return r.reference }

func (r *Repository) limit() int64 {
	if r.MaxBytes > 0 {
		return r.MaxBytes
	}
	return defaultMaxBytes
}

// Push stores the artifact and returns its digest. It does not send what the registry already has,
// so a second push costs only one request. Errors are *Error.
func (r *Repository) Push(ctx context.Context, packed artifact.Artifact) (string, error) {
	manifest, err := packed.Manifest()
	if err != nil {
		return "", err
	}
	digest := sha256digest.Of(manifest)
	if int64(len(packed.Layer)) > r.limit() {
		return "", fmt.Errorf("push %s to %s: %w: the layer has %d bytes, at most %d are allowed",
			digest, r.reference, artifact.ErrTooLarge, len(packed.Layer), r.limit())
	}
	descriptor := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: godigest.Digest(digest),
		Size: int64(len(manifest))}
	exists, err := r.remote.Manifests().Exists(ctx, descriptor)
	if err != nil {
		return "", r.explain("look up", digest, err)
	}
	if exists {
		return digest, nil
	}
	if err := r.pushEmptyConfig(ctx); err != nil {
		return "", r.explain("push", digest, err)
	}
	if err := r.pushBlob(ctx, packed.LayerBlob(), packed.Layer); err != nil {
		return "", r.explain("push", digest, err)
	}
	if err := r.remote.Manifests().Push(ctx, descriptor, bytes.NewReader(manifest)); err != nil {
		return "", r.explain("push", digest, err)
	}
	return digest, nil
}

func (r *Repository) pushEmptyConfig(ctx context.Context) error {
	content := []byte(artifact.EmptyConfig)
	return r.pushBlob(ctx, artifact.Blob{Digest: sha256digest.Of(content), Size: int64(len(content))}, content)
}

func (r *Repository) pushBlob(ctx context.Context, blob artifact.Blob, content []byte) error {
	exists, err := r.remote.Blobs().Exists(ctx, blobDescriptor(blob))
	if err != nil || exists {
		return err
	}
	return r.remote.Blobs().Push(ctx, blobDescriptor(blob), bytes.NewReader(content))
}

// Has reports whether the registry has the artifact with that digest. Errors are *Error.
func (r *Repository) Has(ctx context.Context, digest string) (bool, error) {
	if err := sha256digest.Check(digest); err != nil {
		return false, fmt.Errorf("look up in %s: %w", r.reference, err)
	}
	exists, err := r.remote.Manifests().Exists(ctx,
		ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: godigest.Digest(digest)})
	if err != nil {
		return false, r.explain("look up", digest, err)
	}
	return exists, nil
}

// Pull fetches the artifact with that digest, with one GET for the manifest and one for the layer.
// It verifies both against the digest; an error about different bytes wraps ErrDamaged. Errors are
// *Error.
func (r *Repository) Pull(ctx context.Context, digest string) (artifact.Artifact, error) {
	if err := sha256digest.Check(digest); err != nil {
		return artifact.Artifact{}, fmt.Errorf("pull from %s: %w", r.reference, err)
	}
	// FetchReference needs no size in advance; Fetch does.
	_, reader, err := r.remote.Manifests().FetchReference(ctx, digest)
	if err != nil {
		return artifact.Artifact{}, r.explain("pull", digest, err)
	}
	manifest, err := readChecked(reader, digest, maxManifestBytes)
	if err != nil {
		return artifact.Artifact{}, r.explain("pull", digest, fmt.Errorf("manifest: %w", err))
	}
	pulled, layer, err := artifact.ParseManifest(manifest)
	if err != nil {
		return artifact.Artifact{}, r.explain("pull", digest, err)
	}
	if layer.Size > r.limit() {
		return artifact.Artifact{}, r.explain("pull", digest,
			fmt.Errorf("%w: the layer has %d bytes, at most %d are allowed", artifact.ErrTooLarge, layer.Size, r.limit()))
	}
	reader, err = r.remote.Blobs().Fetch(ctx, blobDescriptor(layer))
	if err != nil {
		return artifact.Artifact{}, r.explain("pull", digest, fmt.Errorf("layer: %w", err))
	}
	if pulled.Layer, err = readChecked(reader, layer.Digest, r.limit()); err != nil {
		return artifact.Artifact{}, r.explain("pull", digest, fmt.Errorf("layer: %w", err))
	}
	return pulled, nil
}

// readChecked reads at most limit bytes and verifies their digest.
func readChecked(reader io.ReadCloser, digest string, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err = errors.Join(err, reader.Close()); err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", artifact.ErrTooLarge, limit)
	}
	if actual := sha256digest.Of(content); actual != digest {
		return nil, fmt.Errorf("%w: asked for %s, got bytes of %s", artifact.ErrDamaged, digest, actual)
	}
	return content, nil
}
