package forge

import (
	"net/url"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Repository is where an event happened, by all that the payload says of it.
type Repository struct {
	// URLs are its addresses: for people, for git over https and over ssh.
	URLs []string
	// Path ends its https address, where the payload holds no URL; such as /scm/PROJ/shop.
	Path string
}

// repository returns the repository of the addresses that are set.
func repository(urls ...string) Repository {
	return Repository{URLs: slices.DeleteFunc(urls, func(u string) bool { return u == "" })}
}

// IsZero reports whether no repository is named.
func (r Repository) IsZero() bool { return len(r.URLs) == 0 && r.Path == "" }

// String names the repository for people, by the first of its addresses. A password in it is left out.
func (r Repository) String() string {
	if len(r.URLs) == 0 {
		return printable(r.Path)
	}
	first := r.URLs[0]
	if parsed, err := url.Parse(first); err == nil && parsed.User != nil {
		parsed.User = nil
		first = parsed.String()
	}
	return printable(first)
}

// Match is how surely an event is about a repository.
type Match int

// The results of Matches.
const (
	// Other repositories are not meant.
	Other Match = iota
	// SamePath is a repository of the same path at another host, such as that of an address inside a cluster. It may be another one.
	SamePath
	// Same is the repository itself.
	Same
)

// Matches compares the repository with the address that one is watched by. Letter case, ports, a final .git or slash, and whether
// an address is for https, ssh or people make no difference: a poll too many costs little, one too few costs an interval.
func (r Repository) Matches(watched string) Match {
	at, ok := parseAddress(watched)
	if !ok {
		return Other
	}
	found := Other
	if r.Path != "" && strings.HasSuffix(at.path, bare(r.Path)) {
		found = Same
	}
	for _, text := range r.URLs {
		named, ok := parseAddress(text)
		switch {
		case !ok || named.path != at.path:
		case named.host == at.host:
			found = Same
		default:
			found = max(found, SamePath)
		}
	}
	return found
}

// MatchesRef reports whether a pushed ref is the one that is watched. Either may be written in full (refs/heads/main) or short.
func MatchesRef(pushed, watched string) bool {
	if strings.HasPrefix(pushed, "refs/") && strings.HasPrefix(watched, "refs/") {
		return pushed == watched
	}
	return ShortRef(pushed) == ShortRef(watched)
}

// ShortRef returns a branch or tag as people write it.
func ShortRef(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
}

// address is where a repository is, in the one spelling by which addresses are compared.
type address struct{ host, path string }

// scpLike is git's short form of an ssh address: git@host:owner/repository.
var scpLike = lazyregexp.New(`^(?:[^@/:]+@)?([^/:]+):([^/].*)$`)

// parseAddress reads a URL, or git's short form of an ssh one.
func parseAddress(text string) (address, bool) {
	if !strings.Contains(text, "://") {
		parts := scpLike.FindStringSubmatch(text)
		if parts == nil {
			return address{}, false
		}
		return address{host: hostname(parts[1]), path: bare("/" + parts[2])}, true
	}
	parsed, err := url.Parse(text)
	if err != nil || bare(parsed.Path) == "" || parsed.Hostname() == "" && parsed.Scheme != "file" {
		return address{}, false
	}
	return address{host: hostname(parsed.Hostname()), path: bare(parsed.Path)}, true
}

func hostname(text string) string { return strings.TrimSuffix(strings.ToLower(text), ".") }

// bare returns a path without what addresses of one repository differ in.
func bare(path string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(strings.ToLower(path), "/"), ".git"), "/")
}
