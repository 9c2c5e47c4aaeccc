package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// The media types of a chart in an OCI registry, as in Helm's documentation of
// registries; the last is that of early Helm versions.
const (
	configMedia = "application/vnd.cncf.helm.config.v1+json"
	chartMedia  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	legacyMedia = "application/tar+gzip"
)

// maxTags bounds the tags of a repository that are read.
const maxTags = 20_000

// fetchOCI fetches a chart from a registry: the repository's path and the chart's
// name form the path there, the version is the tag.
func (s *session) fetchOCI(from chartRepo, name, wanted string) (download, error) {
	repository, err := s.open(from.url.Host, from.url.Path+"/"+name)
	if err != nil {
		return download{}, err
	}
	tag := wanted
	if _, err := semver.NewVersion(wanted); err != nil || strings.Count(strings.SplitN(wanted, "-", 2)[0], ".") < 2 {
		if tag, err = s.newest(repository, wanted); err != nil {
			return download{}, err
		}
	}
	got, err := s.pull(repository, strings.ReplaceAll(tag, "+", "_"))
	if isNotFound(err) {
		if known, tagsErr := s.tags(repository); tagsErr == nil {
			return download{}, fmt.Errorf("it has no version %s; %s", clean(wanted), listVersions(wanted, descending(known)))
		}
	}
	got.version = tag
	return got, s.explainRegistry(err)
}

// fetchReference fetches a chart by host/path:tag or host/path@digest.
func (s *session) fetchReference(host, path string) (download, error) {
	reference := ""
	if name, digest, found := strings.Cut(path, "@"); found {
		path, reference = name, digest
	} else if slash, colon := strings.LastIndex(path, "/"), strings.LastIndex(path, ":"); colon > slash {
		path, reference = path[:colon], path[colon+1:]
	}
	if reference == "" {
		return download{}, errors.New("it has no tag; write oci://host/path:version")
	}
	repository, err := s.open(host, path)
	if err != nil {
		return download{}, err
	}
	got, err := s.pull(repository, reference)
	got.version = strings.ReplaceAll(reference, "_", "+")
	return got, s.explainRegistry(err)
}

// open returns a client for a repository in a registry.
func (s *session) open(host, path string) (*remote.Repository, error) {
	repository, err := remote.NewRepository(host + "/" + strings.Trim(path, "/"))
	if err != nil || repository.Reference.Reference != "" {
		return nil, fmt.Errorf("oci://%s%s is not the address of a chart in a registry; write oci://host/path, in lower case",
			clean(host), clean(path))
	}
	repository.PlainHTTP = isPlainHTTP(host)
	repository.MaxMetadataBytes = 2 << 20
	repository.SkipReferrersGC = true
	client := &auth.Client{
		Client: s.client,
		Header: http.Header{"User-Agent": {"nuon/" + version.Number}},
		Cache:  auth.NewCache(),
	}
	repository.Client = client
	found, err := s.credential(&url.URL{Scheme: "oci", Host: host, Path: "/" + repository.Reference.Repository})
	if err != nil {
		return nil, err
	}
	if !found.Secret.IsZero() {
		client.Credential = auth.StaticCredential(repository.Reference.Host(),
			auth.Credential{Username: found.Username, Password: string(found.Secret.Reveal())})
	}
	return repository, nil
}

// newest lists the tags, and chooses one of them.
func (s *session) newest(repository *remote.Repository, wanted string) (string, error) {
	known, err := s.tags(repository)
	if err != nil {
		return "", s.explainRegistry(fmt.Errorf("list its versions: %w", err))
	}
	return choose(wanted, known)
}

func (s *session) tags(repository *remote.Repository) ([]string, error) {
	var known []string
	err := repository.Tags(s.ctx, "", func(tags []string) error {
		for _, tag := range tags {
			known = append(known, strings.ReplaceAll(tag, "_", "+"))
		}
		if len(known) > maxTags || len(tags) == 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) && len(known) <= maxTags {
		err = nil
	}
	if errors.Is(err, errEnough) {
		return nil, fmt.Errorf("it has more than %d tags; name one exact version", maxTags)
	}
	return known, err
}

var errEnough = errors.New("enough")

// pull downloads the chart's layer of a manifest.
func (s *session) pull(repository *remote.Repository, reference string) (download, error) {
	described, reader, err := repository.Manifests().FetchReference(s.ctx, reference)
	if err != nil {
		return download{}, err
	}
	content, err := s.readAll(reader, 1<<20)
	if err != nil {
		return download{}, err
	}
	if came := sha256digest.Of(content); came != described.Digest.String() {
		return download{},
			fmt.Errorf("the registry states the digest %s, and the content has %s; it is not used; report it to the operator",
				described.Digest, came)
	}
	layer, err := chartLayer(content)
	if err != nil {
		return download{}, err
	}
	if reader, err = repository.Blobs().Fetch(s.ctx, layer); err != nil {
		return download{}, err
	}
	if content, err = s.readAll(reader, maxArchive); err != nil {
		return download{}, err
	}
	if came := sha256digest.Of(content); came != layer.Digest.String() {
		return download{},
			fmt.Errorf("its manifest states the digest %s, and the chart has %s; it is not used; report it to the "+
				"operator", layer.Digest, came)
	}
	return download{origin: "oci://" + repository.Reference.Host() + "/" + repository.Reference.Repository + ":" +
		clean(reference), content: content}, nil
}

func (s *session) readAll(reader io.ReadCloser, limit int64) ([]byte, error) {
	content, err := s.read(reader, limit)
	return content, errors.Join(err, reader.Close())
}

// chartLayer returns the chart's layer in a manifest.
func chartLayer(content []byte) (ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil {
		return ocispec.Descriptor{}, errors.New("its manifest is not JSON; push the chart again with `helm push`")
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType != chartMedia && (layer.MediaType != legacyMedia || manifest.Config.MediaType != configMedia) {
			continue
		}
		if err := sha256digest.Check(layer.Digest.String()); err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("its manifest: %w", err)
		}
		if layer.Size < 0 || layer.Size > maxArchive {
			return ocispec.Descriptor{}, fmt.Errorf("%w: %d bytes; make the chart smaller, with .helmignore", errTooLarge,
				layer.Size)
		}
		return layer, nil
	}
	kind := manifest.Config.MediaType
	if kind == "" {
		kind = manifest.MediaType
	}
	return ocispec.Descriptor{},
		fmt.Errorf("the artifact there is of type %s, not a chart; name a chart that was pushed with `helm "+
			"push`", quote(kind))
}

func isNotFound(err error) bool {
	var answer *errcode.ErrorResponse
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound ||
		err != nil && !errors.Is(err, auth.ErrBasicCredentialNotFound) && strings.HasSuffix(err.Error(), "not found")
}

// explainRegistry describes an error of the registry's client.
func (s *session) explainRegistry(err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return errorOfStatus(answer.StatusCode)
	case isNotFound(err):
		return errorOfStatus(http.StatusNotFound)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return errorOfStatus(http.StatusUnauthorized)
	case errors.Is(err, context.Canceled):
		return err
	}
	return s.explainNetwork(err)
}
