package appconfig

import (
	"net/url"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// shortRepo matches owner/name on GitHub.
var shortRepo = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)

// scpRepo matches git@host:path.
var scpRepo = lazyregexp.New(`^[A-Za-z0-9_]+@[A-Za-z0-9.-]+:[A-Za-z0-9_./~-]+$`)

// branchName excludes characters that git does not allow in a ref, and a leading dash.
var branchName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_./+@#=,-]*$`)

// repoProblem returns what is wrong with a repository address. It does not repeat one that may
// contain a password.
func repoProblem(repo string) (problem, hint string) {
	const forms = `write "owner/name", an https:// URL, or "." for the app's own repository`
	if repo == "." || shortRepo.MatchString(repo) {
		return "", ""
	}
	address, err := url.Parse(repo)
	if err != nil || strings.ContainsAny(repo, " \t\r\n") {
		return "is no address of a repository", forms
	}
	switch {
	case address.User != nil:
		return "contains a user or a password", "remove it: access is set up for the org, not in the config"
	case address.Scheme == "https" && address.Host != "", address.Scheme == "file" && address.Host == "" &&
		path.IsAbs(address.Path):
		return "", ""
	case address.Scheme == "" && shortRepo.MatchString(strings.TrimPrefix(repo, "github.com/")):
		return "is an address without its beginning",
			"write " + diagnostic.Quote(strings.TrimPrefix(repo, "github.com/"))
	case address.Scheme == "http":
		return "is fetched without encryption", "write https://"
	}
	return diagnostic.Quote(repo) + " is no address of a repository", forms
}
