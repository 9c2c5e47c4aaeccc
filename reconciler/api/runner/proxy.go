package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// BlobKind is one of the two paths of a repository (OCI distribution specification).
type BlobKind string

// The two kinds.
const (
	Manifests BlobKind = "manifests"
	Layers    BlobKind = "blobs"
)

// Blobs returns ErrNoBlob for bytes that the registry does not have, and errNoRange for a start
// beyond their end.
var (
	ErrNoBlob  = errors.New("the vendor's registry does not have it")
	errNoRange = errors.New("it has fewer bytes")
)

// Wanted identifies bytes in the vendor's registry.
type Wanted struct {
	Repository string // below the registry's prefix, as a job's spec names it
	Digest     string
	Kind       BlobKind
}

// Content is the requested part of bytes in the vendor's registry.
type Content struct {
	Body      io.ReadCloser
	From      int64 // the offset of the first byte of Body
	Size      int64 // of all of it, in bytes; -1 if unknown
	MediaType string
}

// Blobs reads the vendor's registry.
type Blobs interface {
	// Open returns the bytes of a digest, starting at from if the registry supports that, otherwise
	// all. The caller closes the body.
	Open(ctx context.Context, want Wanted, from int64) (Content, error)
}

// proxy serves /v2/: it lets an attempt read, with its token, the artifact in the vendor's registry
// that the spec of a sync names, or of a plan or an action that copies it, and the image that this
// artifact lists. So no credential of the vendor ever exists in a customer's account (design, section 4),
// and no other job can read from the registry.
type proxy struct {
	authorizer *authorizer
	vendor     Blobs
	log        *slog.Logger

	mu     sync.Mutex
	parts  map[string]parts // of each artifact, by its digest; a digest's content never changes
	cached int              // digests in parts
}

// parts are the digests that belong to an artifact: its config and layer, and the manifests and blobs
// of the image that it lists.
type parts map[BlobKind]map[string]bool

func (p parts) add(kind BlobKind, digest string) {
	if p[kind] == nil {
		p[kind] = map[string]bool{}
	}
	p[kind][digest] = true
}

func newProxy(a *authorizer, vendor Blobs, log *slog.Logger) *proxy {
	return &proxy{authorizer: a, vendor: vendor, log: log, parts: map[string]parts{}}
}

// blobPath splits a path into repository (in the grammar of the OCI distribution specification),
// kind and digest. Runners cannot use tags, which might not be what was approved.
var blobPath = func() *regexp.Regexp {
	const name = `[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*`
	return regexp.MustCompile(`^/v2/(` + name + `(?:/` + name + `)*)/(manifests|blobs)/(sha256:[0-9a-f]{64})$`)
}()

// ServeHTTP serves GET and HEAD.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithTimeout(r.Context(), slow)
	defer stop()
	middleware.Within(w, slow)
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "artifacts are read-only here")
		return
	}
	caller, err := p.authorizer.authenticate(ctx, r, p.authorizer.runners.Authenticate)
	if err == nil && caller.Job == "" {
		err = runners.ErrUnknownToken
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	if r.URL.Path == "/v2/" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
		return
	}
	path := blobPath.FindStringSubmatch(r.URL.Path)
	if path == nil {
		p.fail(w, r, ErrNoBlob)
		return
	}
	if err := p.serve(ctx, w, r, caller, Wanted{
		Repository: path[1], Kind: BlobKind(path[2]), Digest: path[3],
	}); err != nil {
		p.fail(w, r, err)
	}
}

// serve streams the requested bytes if the caller's spec names them. It returns an error only
// before the first byte.
func (p *proxy) serve(
	ctx context.Context, w http.ResponseWriter, r *http.Request, caller runners.Caller, want Wanted,
) error {
	ref, err := attemptOf(caller)
	if err != nil {
		return err
	}
	spec, err := p.authorizer.jobs.Spec(ctx, caller, ref)
	if err != nil {
		return err
	}
	named, err := p.names(ctx, spec, want)
	if err != nil {
		return err
	}
	if !named {
		return ErrNoBlob
	}
	content, err := p.vendor.Open(ctx, want, begin(r, want))
	if err != nil {
		return err
	}
	defer content.Body.Close() //nolint:errcheck // it was only read
	head(w, want, content)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, content.Body); err != nil && ctx.Err() == nil {
		p.log.WarnContext(ctx, "artifact transfer aborted", "job", caller.Job, "digest",
			want.Digest, "error", err)
	}
	return nil
}

// begin returns the first byte that a request asks for. It supports only the HTTP range that
// resumes an interrupted download; any other request gets everything, as HTTP allows.
func begin(r *http.Request, want Wanted) int64 {
	if r.Method != http.MethodGet || want.Kind != Layers {
		return 0
	}
	number, isOpen := strings.CutSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
	from, err := strconv.ParseInt(number, 10, 64)
	if !isOpen || err != nil || from < 0 {
		return 0
	}
	return from
}

// head writes the headers and the status.
func head(w http.ResponseWriter, want Wanted, content Content) {
	header := w.Header()
	header.Set("Content-Type", content.MediaType)
	header.Set("Docker-Content-Digest", want.Digest)
	if want.Kind == Layers {
		header.Set("Accept-Ranges", "bytes")
	}
	if content.From == 0 {
		contentLength(header, content.Size)
		w.WriteHeader(http.StatusOK)
		return
	}
	contentLength(header, content.Size-content.From)
	header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", content.From, content.Size-1, content.Size))
	w.WriteHeader(http.StatusPartialContent)
}

// names reports whether a spec names the requested bytes: an artifact to copy, or one of its
// parts.
func (p *proxy) names(ctx context.Context, spec api.JobSpec, want Wanted) (bool, error) {
	for _, ref := range copied(spec) {
		if named, err := p.isPart(ctx, ref, want); named || err != nil {
			return named, err
		}
	}
	return false, nil
}

// copied returns the artifacts that a job copies.
func copied(spec api.JobSpec) []api.ArtifactRef {
	switch spec.Kind {
	case api.JobSpecKindSync:
		return []api.ArtifactRef{spec.Sync.From}
	case api.JobSpecKindPlan:
		return []api.ArtifactRef{spec.Plan.From}
	case api.JobSpecKindAction:
		var all []api.ArtifactRef
		for _, step := range spec.Action.Steps {
			all = append(all, step.Source.From)
		}
		return all
	}
	return nil
}

// isPart reports whether the requested bytes are an artifact or one of its parts.
func (p *proxy) isPart(ctx context.Context, ref api.ArtifactRef, want Wanted) (bool, error) {
	switch {
	case ref.Repository == "" || ref.Repository != want.Repository:
		return false, nil
	case ref.Digest == want.Digest:
		return true, nil
	}
	found, err := p.partsOf(ctx, ref)
	return found[want.Kind][want.Digest], err
}

const (
	// largestManifest bounds the bytes read of a manifest, or of the list of an image's content; nuon's
	// own manifests have less than 2 KiB.
	largestManifest = mib
	// maxCached bounds the digests in the cache of parts, which is cleared when it is full.
	maxCached = 100_000
)

// partsOf returns the parts of an artifact.
func (p *proxy) partsOf(ctx context.Context, ref api.ArtifactRef) (parts, error) {
	p.mu.Lock()
	found, known := p.parts[ref.Digest]
	p.mu.Unlock()
	if known {
		return found, nil
	}
	raw, err := p.read(ctx, Wanted{Repository: ref.Repository, Digest: ref.Digest, Kind: Manifests})
	if err != nil {
		return nil, err
	}
	found, layer, err := partsIn(raw, ref.Digest)
	if err == nil && layer != "" {
		err = p.addImage(ctx, found, ref.Repository, layer)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cached > maxCached {
		clear(p.parts)
		p.cached = 0
	}
	p.parts[ref.Digest] = found
	p.cached += len(found[Manifests]) + len(found[Layers])
	return found, nil
}

// read returns a manifest or a small layer, after a check of its digest, because what it lists is
// served to runners.
func (p *proxy) read(ctx context.Context, want Wanted) ([]byte, error) {
	content, err := p.vendor.Open(ctx, want, 0)
	if err != nil {
		return nil, err
	}
	defer content.Body.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(content.Body, largestManifest+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", want.Digest, err)
	}
	if len(raw) > largestManifest {
		return nil, fmt.Errorf("%s has more than %d bytes", want.Digest, largestManifest)
	}
	if came := sha256digest.Of(raw); came != want.Digest {
		return nil, fmt.Errorf("the vendor's registry returned %s for %s", came, want.Digest)
	}
	return raw, nil
}

// partsIn parses the manifest of an artifact. layer is the digest of the layer that lists the content
// of an image, or "" if the artifact is of another type.
func partsIn(raw []byte, digest string) (found parts, layer string, err error) {
	type descriptor struct {
		Digest string `json:"digest"`
	}
	var manifest struct {
		ArtifactType string       `json:"artifactType"`
		Config       descriptor   `json:"config"`
		Layers       []descriptor `json:"layers"`
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return nil, "", fmt.Errorf("read manifest %s: %w", digest, err)
	}
	found = parts{}
	found.add(Layers, manifest.Config.Digest)
	for _, one := range manifest.Layers {
		found.add(Layers, one.Digest)
	}
	if manifest.ArtifactType == string(artifact.MediaImage) && len(manifest.Layers) == 1 {
		layer = manifest.Layers[0].Digest
	}
	return found, layer, nil
}

// addImage adds the content of the image that a layer lists.
func (p *proxy) addImage(ctx context.Context, to parts, repository, layer string) error {
	raw, err := p.read(ctx, Wanted{Repository: repository, Digest: layer, Kind: Layers})
	if err != nil {
		return err
	}
	listed, err := image.Unpack(artifact.Artifact{Type: artifact.MediaImage, Form: artifact.FormTree, Layer: raw})
	if err != nil {
		return fmt.Errorf("read the image in %s: %w", layer, err)
	}
	for _, m := range listed.Manifests {
		to.add(Manifests, m.Digest)
		for _, b := range m.Blobs {
			to.add(Layers, b.Digest)
		}
	}
	return nil
}

// fail writes an error in the form that OCI clients read (OCI distribution specification, error
// codes).
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	var many ratelimit.TooMany
	switch {
	case errors.As(err, &many):
		w.Header().Set("Retry-After", strconv.Itoa(many.Seconds()))
		refuse(w, http.StatusTooManyRequests, "TOOMANYREQUESTS", many.Error())
	case errors.Is(err, runners.ErrUnknownToken), errors.Is(err, errNoToken):
		challenge(w, err)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "send the attempt's token")
	case errors.Is(err, errNoRange):
		refuse(w, http.StatusRequestedRangeNotSatisfiable, "RANGE_INVALID", errNoRange.Error())
	case errors.Is(err, ErrNoBlob), errors.Is(err, jobs.ErrNotFound), errors.Is(err, jobs.ErrNotRunning):
		code := "BLOB_UNKNOWN"
		if strings.Contains(r.URL.Path, "/"+string(Manifests)+"/") {
			code = "MANIFEST_UNKNOWN"
		}
		refuse(w, http.StatusNotFound, code,
			"the job's spec names no such artifact, or the vendor's registry does not have it")
	default:
		p.log.ErrorContext(r.Context(), "cannot serve the artifact", "path", r.URL.Path, "error", err)
		refuse(w, http.StatusBadGateway, "UNKNOWN", "the vendor's registry cannot be read now; try again")
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Strings always marshal, and an error cannot reach a client that has disconnected.
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}})
}
