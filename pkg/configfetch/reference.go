package configfetch

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxReference bounds a reference, in bytes.
const maxReference = 2048

// scheme selects how a reference is read.
type scheme int

const (
	web   scheme = iota // http:// and https://
	git                 // git::
	local               // file://
)

// reference is a reference with a valid form. Whether its server may be reached is decided when a
// connection is opened.
type reference struct {
	scheme scheme
	// url is the URL of a file or a repository. It is nil for file://.
	url *url.URL
	// path is the file inside the repository, or on this machine.
	path string
	// ref is the branch, tag or commit of the repository; empty means its default branch.
	ref string
}

// parse parses a reference. Its errors never contain a password.
func parse(text string) (reference, *Error) {
	if problem := checkText(text); problem != nil {
		return reference{}, problem
	}
	switch {
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		return parseWeb(text)
	case strings.HasPrefix(text, "git::"):
		return parseGit(strings.TrimPrefix(text, "git::"))
	case strings.HasPrefix(text, "file://"):
		return parseLocal(text)
	}
	return reference{}, permanent("it begins with none of https://, http://, git:: and file://",
		"write https:// or git::https:// and the address, or ./name for a file beside the config")
}

func checkText(text string) *Error {
	isUnsafe := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	switch {
	case len(text) > maxReference:
		return permanent("it is longer than 2048 bytes", "shorten it")
	case !utf8.ValidString(text) || strings.IndexFunc(text, isUnsafe) >= 0:
		return permanent("it has a character in it that no address has",
			"write spaces as %20, and remove what cannot be seen")
	case strings.Contains(text, "{{"):
		return permanent("it has a template in it, and it is read when the app is synced, before there is an install",
			"write the address in full, and keep the template for inside of the file")
	}
	return nil
}

func parseWeb(text string) (reference, *Error) {
	u, problem := parseURL(text)
	if problem != nil {
		return reference{}, problem
	}
	if strings.Trim(u.Path, "/") == "" && u.RawQuery == "" {
		return reference{}, permanent("it names a server, and no file there",
			"write the path of the file after the server's name")
	}
	return reference{scheme: web, url: u}, nil
}

// parseURL parses the URL of a server, for files and repositories.
func parseURL(text string) (*url.URL, *Error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, permanent("it is not a URL", "write it as https://host/path")
	case u.User != nil:
		return nil, permanent("it holds a user name or a password",
			"take it out: only files that anybody may read can be referred to; put others beside the config and write ./name")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, permanent("it names no server", "write it as https://host/path")
	}
	u.Fragment, u.RawFragment = "", "" // a position in the file, which is not sent to the server
	return u, nil
}

// parseGit parses the part after git::, such as https://host/repository//path/in/it?ref=branch.
func parseGit(text string) (reference, *Error) {
	address, problem := repositoryURL(text)
	if problem != nil {
		return reference{}, problem
	}
	u, problem := parseURL(address)
	if problem != nil {
		return reference{}, problem
	}
	found := reference{scheme: git, url: u}
	if found.ref, problem = refOf(u); problem != nil {
		return reference{}, problem
	}
	repository, inside, hasPath := strings.Cut(u.EscapedPath(), "//")
	if !hasPath || strings.Trim(repository, "/") == "" {
		return reference{}, permanent("it does not say which file of the repository it means",
			"write git::https://host/repository//path/of/the/file")
	}
	if found.path, problem = unescapePath(inside); problem != nil {
		return reference{}, problem
	}
	u.RawQuery, u.ForceQuery = "", false
	if u, err := u.Parse(repository); err == nil {
		found.url = u
		return found, nil
	}
	return reference{}, permanent("it is not a URL", "write git::https://host/repository//path/of/the/file")
}

// repositoryURL returns the full URL of a repository: https is the default for a URL that starts
// with a server name.
func repositoryURL(text string) (string, *Error) {
	scheme, _, hasScheme := strings.Cut(text, "://")
	switch {
	case hasScheme && (scheme == "https" || scheme == "http"):
		return text, nil
	case hasScheme && scheme == "file":
		return "", permanent("repositories of this machine are not read",
			"write ./name for a file beside the config, or the repository's https URL")
	case hasScheme && scheme != "ssh" && scheme != "git+ssh" && scheme != "ssh+git":
		return "", permanent("repositories are read over https only",
			"write git::https://host/repository//path/of/the/file")
	case hasScheme || strings.Contains(text, "@"):
		return "", permanent("repositories are not read over ssh, for which there is no key",
			"write git::https://host/repository//path/of/the/file if anybody may read it; else put the file beside the config "+
				"and write ./name")
	}
	if host, _, _ := strings.Cut(text, "/"); !strings.Contains(host, ".") || strings.HasPrefix(host, ".") {
		return "", permanent("it names no server", "write git::https://host/repository//path/of/the/file")
	}
	return "https://" + text, nil
}

// refOf returns the ref in the query of a repository URL.
func refOf(u *url.URL) (string, *Error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", permanent("what follows its ? cannot be read", "write ?ref= and the branch, tag or commit")
	}
	for key := range query {
		// The history is never read, so the requested depth has no effect.
		if key != "ref" && key != "depth" {
			return "", permanent("what follows its ? has another key than ref",
				"write ?ref= and the branch, tag or commit")
		}
	}
	ref := query.Get("ref")
	if len(query["ref"]) > 1 || len(ref) > 255 || !utf8.ValidString(ref) ||
		strings.ContainsFunc(ref, unicode.IsControl) {
		return "", permanent("its ref is none that git knows", "write ?ref= and the branch, tag or commit, once")
	}
	return ref, nil
}

// unescapePath returns the path of a file in a repository. It rejects paths that leave the
// repository.
func unescapePath(escaped string) (string, *Error) {
	inside, err := url.PathUnescape(escaped)
	switch {
	case err != nil || !utf8.ValidString(inside) || strings.ContainsFunc(inside, unicode.IsControl):
		return "", permanent("the path of its file cannot be read", "write the path as it is in the repository")
	case inside == "" || strings.HasPrefix(inside, "/") || path.Clean(inside) != inside || inside == "." ||
		inside == ".." || strings.HasPrefix(inside, "../"):
		return "", permanent("the path of its file is none inside the repository",
			"write it without .., and without a slash at either end")
	}
	return inside, nil
}

func parseLocal(text string) (reference, *Error) {
	u, err := url.Parse(text)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" || !path.IsAbs(u.Path) {
		return reference{}, permanent("it names no file of this machine",
			"write file:// and the absolute path, or ./name for a file beside the config")
	}
	return reference{scheme: local, path: path.Clean(u.Path)}, nil
}

// sanitize returns untrusted text on one line of bounded length, without control characters and
// invalid UTF-8.
func sanitize(text string, max int) string {
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	clean = strings.TrimSpace(clean)
	if runes := []rune(clean); len(runes) > max {
		return string(runes[:max]) + "…"
	}
	return clean
}
