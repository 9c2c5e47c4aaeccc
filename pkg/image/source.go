package image

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// The registry of addresses without a host, its older name, and the path of its official images.
const (
	dockerHub      = "docker.io"
	dockerHubIndex = "index.docker.io"
	dockerOfficial = "library/"
)

var (
	repositoryForm = lazyregexp.New(`^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*$`)
	hostForm       = lazyregexp.New(`^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?$`)
	tagForm        = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

// maxAddress bounds an address of an image, in bytes.
const maxAddress = 1024

// ParseRepository returns the repository of an image_url, such as ghcr.io/acme/api. An address
// without a host is one of Docker Hub, as for docker pull.
func ParseRepository(url string) (artifact.Reference, error) {
	host, path, found := strings.Cut(url, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, path = dockerHub, url
	}
	if host = strings.ToLower(host); host == dockerHubIndex {
		host = dockerHub
	}
	if host == dockerHub && !strings.Contains(path, "/") {
		path = dockerOfficial + path
	}
	if len(url) > maxAddress || !hostForm.MatchString(host) || !repositoryForm.MatchString(path) {
		return artifact.Reference{}, fmt.Errorf("%.200q is no address of an image; "+
			"write it like ghcr.io/acme/ledger-api", url)
	}
	return artifact.Reference{Host: host, Repository: path}, nil
}

// ParseTag splits the tag of a config: a tag, a digest, or a tag with a digest (1.4@sha256:…), of
// which the digest counts.
func ParseTag(text string) (tag, digest string, err error) {
	tag, digest, both := strings.Cut(text, "@")
	if !both && strings.HasPrefix(text, "sha256:") {
		tag, digest = "", text
	}
	switch {
	case tag != "" && !tagForm.MatchString(tag), tag == "" && digest == "", both && (tag == "" || digest == ""):
		return "", "", fmt.Errorf("%.200q is no tag of an image; write it like 1.4.2, sha256:… or 1.4.2@sha256:…", text)
	case digest == "":
		return tag, "", nil
	}
	if err := sha256digest.Check(digest); err != nil {
		return "", "", err
	}
	return tag, digest, nil
}

// Constraint is an update_policy: versions of which the newest is taken.
type Constraint struct{ versions *semver.Constraints }

// ParseConstraint parses an update_policy, such as ~1.10.0.
func ParseConstraint(text string) (Constraint, error) {
	parsed, err := semver.NewConstraint(text)
	if err != nil {
		return Constraint{}, fmt.Errorf("%.200q is no constraint of versions; write it like ~1.10.0 or ^2", text)
	}
	return Constraint{parsed}, nil
}

// Newest returns the tag with the newest version that the constraint allows. It skips tags that are
// no semantic versions (three numbers, with or without a v), and prefers the tag without a v.
func (c Constraint) Newest(tags []string) (newest string, found bool) {
	var best *semver.Version
	for _, tag := range tags {
		version, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
		if err != nil || !tagForm.MatchString(tag) || !c.versions.Check(version) {
			continue
		}
		if best == nil || version.GreaterThan(best) || version.Equal(best) && tag < newest {
			best, newest = version, tag
		}
	}
	return newest, best != nil
}

// Tool and ResolutionKey name the resolution of an image among those of builds (api.ModuleResolution):
// the tool that it is for, and its only entry.
const (
	Tool          = "image"
	ResolutionKey = "image"
)

// KeylessKey is among the keys that may sign an image (api.ImageSource) if identities may sign it as well.
const KeylessKey = "keyless"

// CredentialScheme is the scheme of addresses for which credentials for images are stored.
const CredentialScheme = "oci"

// CredentialAddress returns the address of a repository for which a credential is looked up.
func CredentialAddress(repository artifact.Reference) string {
	return CredentialScheme + "://" + repository.String()
}
