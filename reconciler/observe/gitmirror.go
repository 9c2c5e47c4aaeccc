package observe

import (
	"fmt"
	"net"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/credentialscope"
)

// GitMirror is a server, or a directory of this machine, that has copies of other servers'
// repositories. A repository whose URL starts with from is read at to, followed by the rest of its
// URL.
type GitMirror struct {
	from string     // an https:// URL without a slash at its end
	to   repository // https:// or file://, or http:// on the loopback address; without a slash at its end
}

// ParseGitMirrors parses entries of the form FROM=TO and returns an error for one that could never
// be used.
func ParseGitMirrors(entries []string) ([]GitMirror, error) {
	var mirrors []GitMirror
	named := map[string]bool{}
	for _, entry := range entries {
		from, to, found := strings.Cut(entry, "=")
		if !found {
			return nil, fmt.Errorf("%q has no =; write FROM=TO, such as https://github.com/=https://git.example/github/", entry)
		}
		source, err := parsePrefix(from)
		if err != nil {
			return nil, err
		}
		target, err := parsePrefix(to)
		switch {
		case err != nil:
			return nil, err
		case source.scheme != "https":
			return nil, fmt.Errorf("%q is not a prefix of https:// URLs, and other URLs are not read from servers", from)
		case !credentialscope.PlainPath(source.path) || target.scheme != "file" && !credentialscope.PlainPath(target.path):
			return nil, fmt.Errorf("%q has a path with empty or dot segments; write it without them", entry)
		case target.scheme == "http" && !isLoopback(target.host):
			return nil, fmt.Errorf("%q: %s", to, plainHTTPMessage)
		case named[source.String()]:
			return nil, fmt.Errorf("%s has two mirrors; keep one", source)
		}
		named[source.String()] = true
		mirrors = append(mirrors, GitMirror{from: source.String(), to: target})
	}
	return mirrors, nil
}

// parsePrefix parses the start of repository URLs.
func parsePrefix(text string) (repository, error) {
	at, err := parseRepository(strings.TrimRight(text, "/") + "/x")
	at.path = strings.TrimSuffix(at.path, "/x")
	return at, err
}

// isLoopback reports whether a URL's host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// mirrorOf returns the mirror of the longest matching start of a repository's URL, and where the
// repository is there.
func (o *Observer) mirrorOf(at repository) (mirror GitMirror, to repository, found bool) {
	rest := ""
	for _, m := range o.options.GitMirrors {
		after, matches := strings.CutPrefix(at.String(), m.from)
		// The URL of one repository may be written with .git, and without.
		whole := after == "" || after == ".git"
		if !matches || !whole && !strings.HasPrefix(after, "/") || found && len(m.from) <= len(mirror.from) {
			continue
		}
		mirror, rest, found = m, after, true
		if whole {
			rest = ""
		}
	}
	to = mirror.to
	to.path += rest
	return mirror, to, found
}

// openMirrored opens a repository's copy. A credential is sent there only if it is for the copy's
// URL, too.
func (o *Observer) openMirrored(at repository, mirror GitMirror, to repository, with credential) (remote, error) {
	if !credentialscope.PlainPath(at.path) {
		return nil, repoErrorf("%s has a path with empty or dot segments, which no mirror has; write it without them",
			PlainText(at.String(), 200))
	}
	shown := fmt.Sprintf("%s (read from its mirror %s)", at, to)
	if to.scheme == "file" {
		options := o.options
		options.AllowFileRemotes = []string{mirror.to.path}
		return openFileRemote(shown, to.path, options)
	}
	if with.name != "" && !patternsCover(with.repositories, to.String()) {
		with = credential{}
	}
	return &httpRemote{url: to.String(), shown: shown, client: o.mirrorClient, login: with, limits: o.options.Limits}, nil
}
