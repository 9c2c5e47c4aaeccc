package forge

import (
	"net/url"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Repository is the repository of an event, with everything in the payload that identifies it.
type Repository struct {
	// URLs are its web page and its git URLs over https and ssh.
	URLs []string
	// Path is the end of its https URL if the payload has no URL, such as /scm/PROJ/shop.
	Path string
}

// repository returns a repository with the URLs that are not empty.
func repository(urls ...string) Repository {
	return Repository{URLs: slices.DeleteFunc(urls, func(u string) bool { return u == "" })}
}

// IsZero reports whether the repository is unknown.
func (r Repository) IsZero() bool { return len(r.URLs) == 0 && r.Path == "" }

// String returns the first of its URLs, for messages. It leaves out a password.
func (r Repository) String() string {
	if len(r.URLs) == 0 {
		return printable(r.Path)
	}
	first := r.URLs[0]
	parsed, err := url.Parse(first)
	switch {
	case err == nil && parsed.User != nil:
		parsed.User = nil
		first = parsed.String()
	case (err != nil || parsed.Opaque != "") && strings.Contains(first, "@"): // what is before the @ may be a password
		first = first[strings.LastIndexByte(first, '@')+1:]
	}
	return printable(first)
}

// Match is the confidence that an event concerns a repository.
type Match int

// The results of Matches.
const (
	// DifferentRepository means that the repositories differ.
	DifferentRepository Match = iota
	// SamePathElsewhere means a repository with the same path on another host, such as the host name inside
	// a cluster. It may be a different repository.
	SamePathElsewhere
	// SameRepository means that the repositories are the same.
	SameRepository
)

// Matches compares the repository with the URL of a watched one. It ignores letter case, ports, a
// final .git or slash, and whether a URL is for https, ssh or the web page. The comparison is
// lenient because an unnecessary poll costs little, but a missed one costs a whole poll interval.
func (r Repository) Matches(watched string) Match {
	watchedAddress, ok := parseAddress(watched)
	if !ok {
		return DifferentRepository
	}
	found := DifferentRepository
	if r.Path != "" && strings.HasSuffix(watchedAddress.path, normalizePath(r.Path)) {
		found = SameRepository
	}
	for _, text := range r.URLs {
		named, ok := parseAddress(text)
		switch {
		case !ok || named.path != watchedAddress.path:
		case named.host == watchedAddress.host:
			found = SameRepository
		default:
			found = max(found, SamePathElsewhere)
		}
	}
	return found
}

// MatchesRef reports whether a pushed ref is the watched ref. Either may be in full
// (refs/heads/main) or short form.
func MatchesRef(pushed, watched string) bool {
	if strings.HasPrefix(pushed, "refs/") && strings.HasPrefix(watched, "refs/") {
		return pushed == watched
	}
	return ShortRef(pushed) == ShortRef(watched)
}

// ShortRef returns the short form of a branch or tag.
func ShortRef(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
}

// address is the location of a repository in a normalized form for comparison.
type address struct{ host, path string }

// scpLike matches git's short form of an ssh URL: git@host:owner/repository.
var scpLike = lazyregexp.New(`^(?:[^@/:]+@)?([^/:]+):([^/].*)$`)

// parseAddress parses a URL or git's short form of an ssh URL.
func parseAddress(text string) (address, bool) {
	if !strings.Contains(text, "://") {
		parts := scpLike.FindStringSubmatch(text)
		if parts == nil {
			return address{}, false
		}
		return address{host: hostname(parts[1]), path: normalizePath("/" + parts[2])}, true
	}
	parsed, err := url.Parse(text)
	if err != nil || normalizePath(parsed.Path) == "" || parsed.Hostname() == "" && parsed.Scheme != "file" {
		return address{}, false
	}
	return address{host: hostname(parsed.Hostname()), path: normalizePath(parsed.Path)}, true
}

func hostname(text string) string { return strings.TrimSuffix(strings.ToLower(text), ".") }

// normalizePath returns a path without the parts in which URLs of one repository differ.
func normalizePath(path string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(strings.ToLower(path), "/"), ".git"), "/")
}
