package appconfig

import (
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shortRepo is owner/name on GitHub.
var shortRepo = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)

// scpRepo is git@host:path.
var scpRepo = regexp.MustCompile(`^[A-Za-z0-9_]+@[A-Za-z0-9.-]+:[A-Za-z0-9_./~-]+$`)

// branchName leaves out what git does not allow in a ref, and a leading dash.
var branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+@#=,-]*$`)

// source reads [public_repo] or [connected_repo]. It tells what is wrong and gives nil if the table has neither.
func (l *loader) source(file string, t *table) *Source {
	public, connected := t.object("public_repo"), t.object("connected_repo")
	repo := public
	switch {
	case public != nil && connected != nil:
		l.errorf(file, t.place("connected_repo"), "keep one of them", "both public_repo and connected_repo are given")
	case public == nil && connected == nil:
		return nil
	case public == nil:
		repo = connected
	}
	s := &Source{
		Repo: repo.text("repo"), Directory: repo.text("directory"), Branch: repo.text("branch"),
		Connected: public == nil,
	}
	if s.Repo != "" {
		if problem, hint := repoProblem(s.Repo); problem != "" {
			l.errorf(file, repo.place("repo"), hint, "repo %s", problem)
		}
	}
	l.checkDirectory(file, repo, s)
	l.checkBranch(file, repo, s)
	return s
}

// repoProblem says what is wrong with a repository address, without repeating one that may contain a password.
func repoProblem(repo string) (problem, hint string) {
	const forms = `write "owner/name", an https:// URL, or "." for the app's own repository`
	if repo == "." || shortRepo.MatchString(repo) {
		return "", ""
	}
	if scpRepo.MatchString(repo) || strings.HasPrefix(repo, "ssh://") {
		return "is reached over SSH, which is not supported yet", "write its https:// URL"
	}
	address, err := url.Parse(repo)
	if err != nil || strings.ContainsAny(repo, " \t\r\n") {
		return "is no address of a repository", forms
	}
	switch {
	case address.User != nil:
		return "contains a user or a password", "remove it: access is set up for the org, not in the config"
	case address.Scheme == "https" && address.Host != "", address.Scheme == "file" && address.Host == "" && path.IsAbs(address.Path):
		return "", ""
	case address.Scheme == "http":
		return "is fetched without encryption", "write https://"
	}
	return quoteShort(repo) + " is no address of a repository", forms
}

func (l *loader) checkDirectory(file string, repo *table, s *Source) {
	if s.Directory == "" {
		return
	}
	clean := path.Clean(s.Directory)
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsAny(clean, "\\\x00\n") {
		l.errorf(file, repo.place("directory"), `write a path below the root of the repository, "." for the root itself`,
			"directory %s is outside of the repository", quoteShort(s.Directory))
		return
	}
	s.Directory = clean
}

func (l *loader) checkBranch(file string, repo *table, s *Source) {
	switch {
	case s.Repo == ".":
		if s.Branch != "" {
			l.warnf(file, repo.place("branch"), "remove it", `the branch has no effect: repo "." is always at the app's own commit`)
			s.Branch = ""
		}
		if s.Connected {
			s.Connected = false // the org's access to the app's repository is used anyway
		}
	case s.Branch == "":
		l.errorf(file, repo.at, "name a branch, a tag or a full commit", `"branch" is missing`)
	case !branchName.MatchString(s.Branch), strings.Contains(s.Branch, ".."), strings.Contains(s.Branch, "@{"),
		strings.HasSuffix(s.Branch, ".lock"), strings.HasSuffix(s.Branch, "/"), strings.Contains(s.Branch, "//"):
		l.errorf(file, repo.place("branch"), "name a branch, a tag or a full commit", "%s is no name of a branch", quoteShort(s.Branch))
	}
}

// quoteShort quotes what an author wrote, cut to a length that a line can bear.
func quoteShort(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strconv.Quote(s)
}
