package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// download is a packed chart as downloaded.
type download struct {
	version string // as in the index or the tag
	origin  string
	content []byte
}

// fetch fetches a packed chart from a repository, at most once per session.
func (s *session) fetch(from chartRepo, name, wanted string) (download, error) {
	about := fmt.Sprintf("chart %s from %s", quote(name), from)
	if !chartName.MatchString(name) {
		return download{},
			fmt.Errorf("%s: a chart's name has letters, digits, '.', '_' and '-'; write it as the repository has it", about)
	}
	key := from.String() + "\x00" + name + "\x00" + wanted
	if got, known := s.downloads[key]; known {
		return got, nil
	}
	get := s.fetchIndexed
	if from.oci() {
		get = s.fetchOCI
	}
	got, err := get(from, name, wanted)
	if err != nil {
		if wanted != "" {
			about += ", version " + clean(wanted)
		}
		return download{}, fmt.Errorf("%s: %w", about, err)
	}
	s.downloads[key] = got
	return got, nil
}

// chartName is the form of a chart's name, which becomes part of addresses and paths.
var chartName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,249}$`)

// fetchIndexed fetches a chart from a repository with an index.
func (s *session) fetchIndexed(from chartRepo, name, wanted string) (download, error) {
	entries, err := s.entries(from, name)
	if err != nil {
		return download{}, err
	}
	versions := make([]string, 0, len(entries))
	for _, e := range entries {
		versions = append(versions, e.Version)
	}
	version, err := choose(wanted, versions)
	if err != nil {
		return download{}, err
	}
	for _, e := range entries {
		if e.Version == version {
			return s.fetchEntry(from, e)
		}
	}
	return download{}, errors.New("the index changed while it was read; this is a bug in nuon; report it")
}

// fetchEntry fetches the archive of an index entry, and checks it against the digest in the index.
func (s *session) fetchEntry(from chartRepo, e entry) (download, error) {
	if len(e.URLs) == 0 {
		return download{}, fmt.Errorf("the index names no address for version %s; report it to its "+
			"publisher", quote(e.Version))
	}
	digest, err := e.digest()
	if err != nil {
		return download{}, err
	}
	at, err := from.index().Parse(e.URLs[0])
	if err != nil {
		return download{}, fmt.Errorf("the index names an invalid address for version %s; report it to its publisher",
			quote(e.Version))
	}
	got := download{version: e.Version, origin: redactedURL(at)}
	if at.Scheme == "oci" {
		if got, err = s.fetchReference(at.Host, at.Path); err != nil {
			return download{}, fmt.Errorf("get %s: %w", redactedURL(at), err)
		}
	} else {
		if at, err = parseWeb(at.String()); err != nil {
			return download{}, fmt.Errorf("the index leads elsewhere: %w", err)
		}
		if got.content, err = s.get(at, maxArchive); err != nil {
			return download{}, fmt.Errorf("get %s: %w", redactedURL(at), err)
		}
	}
	if came := sha256digest.Of(got.content); digest != "" && came != digest {
		return download{},
			fmt.Errorf("%s has the digest %s, the index says %s: one of them was changed; it is not used; report it to "+
				"its publisher", redactedURL(at), came, digest)
	}
	if digest == "" {
		s.log.Warn("%s: the index names no digest, so the archive is not verified", redactedURL(at))
	}
	return got, nil
}

// digest returns the digest in the index, "sha256:…", or "" if there is none.
func (e entry) digest() (string, error) {
	if e.Digest == "" {
		return "", nil
	}
	digest := "sha256:" + strings.ToLower(strings.TrimPrefix(e.Digest, "sha256:"))
	if sha256digest.Check(digest) != nil {
		return "", fmt.Errorf("the index has an invalid digest %s for version %s; report it to its publisher",
			quote(e.Digest), quote(e.Version))
	}
	return digest, nil
}
