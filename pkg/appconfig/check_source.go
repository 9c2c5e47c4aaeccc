package appconfig

import (
	"net/url"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// checkSource checks [public_repo] and [connected_repo] of the table at the path above, or of the
// file if above is empty.
func (c *checker) checkSource(t *syntax.Table, path string, from format.Repositories) {
	prefix := ""
	if path != "" {
		prefix = path + "."
	}
	repo, key := from.PublicRepo, prefix+"public_repo"
	switch {
	case repo != nil && from.ConnectedRepo != nil:
		c.errorf(ruleChooseOne, t.KeyPosition(prefix+"connected_repo"), "keep one of them",
			"both public_repo and connected_repo are given")
	case repo == nil:
		repo, key = from.ConnectedRepo, prefix+"connected_repo"
	}
	if repo == nil {
		return
	}
	c.checkAddress(t, key, repo)
	c.checkDirectory(t, key, repo)
	c.checkBranch(t, key, repo)
}

// requireSource is checkSource for a table that requires a source.
func (c *checker) requireSource(t *syntax.Table, from format.Repositories) {
	if from.PublicRepo == nil && from.ConnectedRepo == nil {
		if !has(t, "public_repo") && !has(t, "connected_repo") {
			c.errorf(ruleMissingKey, t.At, `repo = "." is the app's own repository`,
				"[public_repo] or [connected_repo] is missing")
		}
		return
	}
	c.checkSource(t, "", from)
}

// checkAddress reports a bad repository address. It does not repeat an address that may contain a
// password.
func (c *checker) checkAddress(t *syntax.Table, key string, repo *format.Repository) {
	at := t.Position(key + ".repo")
	if repo.Repo == "" {
		return // reported already
	}
	if scpRepo.MatchString(repo.Repo) || strings.HasPrefix(repo.Repo, "ssh://") {
		c.warnf(ruleRepository, at, "write its https:// URL", "repo is reached over SSH, which is not supported yet")
		return
	}
	if problem, hint := repoProblem(repo.Repo); problem != "" {
		c.errorf(ruleRepository, at, hint, "repo %s", problem)
	}
}

func (c *checker) checkDirectory(t *syntax.Table, key string, repo *format.Repository) {
	if escapesRoot(repo.Directory) {
		c.errorf(ruleRepository, t.Position(key+".directory"),
			`write a path below the root of the repository, "." for the root itself`,
			"directory %s is outside of the repository", diagnostic.Quote(repo.Directory))
		return
	}
	c.checkCodeDirectory(t.Position(key+".directory"), repo)
}

func (c *checker) checkBranch(t *syntax.Table, key string, repo *format.Repository) {
	at := t.Position(key + ".branch")
	switch {
	case repo.Repo == ".":
		if repo.Branch != "" {
			c.warnf(ruleNoEffect, at, "remove it",
				`the branch has no effect: repo "." is always at the app's own commit`)
		}
	case repo.Branch == "":
		c.errorf(ruleMissingKey, t.Position(key), "name a branch, a tag or a full commit", `"%s.branch" is missing`, key)
	case !branchName.MatchString(repo.Branch), strings.Contains(repo.Branch, ".."), strings.Contains(repo.Branch, "@{"),
		strings.HasSuffix(repo.Branch, ".lock"), strings.HasSuffix(repo.Branch, "/"),
		strings.Contains(repo.Branch, "//"):
		c.errorf(ruleRepository, at, "name a branch, a tag or a full commit",
			"%s is no name of a branch", diagnostic.Quote(repo.Branch))
	default:
		c.checkTip(at, repo)
	}
}

// fullCommit matches a full commit ID, which pins a source and so is exempt from checkTip.
var fullCommit = lazyregexp.New(`^[0-9a-f]{40}$`)

// checkTip warns when part of the app comes from another branch of the app's own repository. A
// change on one branch then reaches the app and the code at different times.
func (c *checker) checkTip(at syntax.Position, repo *format.Repository) {
	own, ref := c.options.Branch, repo.Branch
	if own == "" || ref == own || fullCommit.MatchString(ref) || looksLikeVersion.MatchString(ref) ||
		!sameRepository(repo.Repo, c.options.Repository) {
		return
	}
	c.warnf(ruleBranchTip, at, `write repo = "." to take the app's own commit, or branch = `+diagnostic.Quote(own),
		"this follows branch %s, and the app itself is on %s of the same repository", diagnostic.Quote(ref),
		diagnostic.Quote(own))
}

// looksLikeVersion matches a tag such as v1.4.0, which an author chooses on purpose.
var looksLikeVersion = lazyregexp.New(`^[a-zA-Z_/-]*v?[0-9]+(\.[0-9]+)+([-+].*)?$`)

// sameRepository reports whether two addresses name one repository, in any spelling.
func sameRepository(a, b string) bool {
	a, b = normalizeRepository(a), normalizeRepository(b)
	return a != "" && a == b
}

// normalizeRepository returns host/owner/name in lower case.
func normalizeRepository(repo string) string {
	if shortRepo.MatchString(repo) {
		repo = "https://github.com/" + repo
	} else if scpRepo.MatchString(repo) {
		_, repo, _ = strings.Cut(repo, "@")
		repo = "ssh://" + strings.Replace(repo, ":", "/", 1)
	}
	address, err := url.Parse(repo)
	if err != nil || address.Path == "" {
		return ""
	}
	return strings.ToLower(address.Hostname() +
		strings.TrimSuffix(strings.TrimSuffix(path.Clean(address.Path), "/"), ".git"))
}
