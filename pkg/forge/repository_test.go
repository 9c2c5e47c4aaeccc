package forge

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatches compares the URLs that forges send with those of watched repositories.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		event   Repository
		watched string
		want    Match
	}{
		{repository("https://github.com/Acme/Shop.git"), "https://github.com/acme/shop", SameRepository},
		{repository("https://github.com/acme/shop"), "https://github.com/acme/shop.git", SameRepository},
		{repository("https://github.com/acme/shop/"), "https://GitHub.com/acme/shop", SameRepository},
		{repository("git@github.com:acme/shop.git"), "https://github.com/acme/shop", SameRepository},
		{repository("ssh://git@git.example:2222/acme/shop.git"), "https://git.example:8443/acme/shop", SameRepository},
		{repository("https://git.example:443/acme/shop"), "https://git.example/acme/shop", SameRepository},
		{repository("http://git.example:3000/acme/shop"), "https://git.example/acme/shop", SameRepository},
		{repository("https://ada@git.example/acme/shop.git"), "https://git.example/acme/shop", SameRepository},
		{repository("https://git.example/a%20b/shop"), "https://git.example/a b/shop", SameRepository},
		{repository("https://git.example./acme/shop"), "https://git.example/acme/shop", SameRepository},
		{repository("https://git.example/group/sub/shop"), "https://git.example/group/sub/shop.git", SameRepository},
		{repository("ssh://git@dc.example:7999/proj/shop.git", "https://dc.example/scm/proj/shop.git"),
			"https://dc.example/scm/PROJ/shop.git", SameRepository},
		{Repository{Path: "/scm/PROJ/shop"}, "https://dc.example/context/scm/proj/shop.git", SameRepository},
		{repository("file:///srv/git/shop"), "file:///srv/git/shop", SameRepository},

		{repository("https://git.example/acme/shop"), "http://gitea.internal:3000/acme/shop", SamePathElsewhere},
		{repository("https://other.example/acme/shop", "https://git.example/acme/shop"),
			"https://git.example/acme/shop", SameRepository},

		{repository("https://github.com/acme/shop2"), "https://github.com/acme/shop", DifferentRepository},
		{repository("https://github.com/acme/shop"), "https://github.com/acme/shop2", DifferentRepository},
		{repository("https://github.com/group/acme/shop"), "https://github.com/acme/shop", DifferentRepository},
		{Repository{Path: "/scm/PROJ/shop"}, "https://dc.example/scm/proj/workshop.git", DifferentRepository},
		{Repository{Path: "/scm/PROJ/shop"}, "https://dc.example/proj/shop.git", DifferentRepository},
		{repository(), "https://github.com/acme/shop", DifferentRepository},
		{repository("://", "https://", "https://github.com", "%zz", ":", "git@"),
			"https://github.com/acme/shop", DifferentRepository},
		{repository("https://github.com"), "https://github.com/", DifferentRepository},
	} {
		if got := c.event.Matches(c.watched); got != c.want {
			t.Errorf("%q and %s: %d, want %d", c.event, c.watched, got, c.want)
		}
	}
}

func TestMatchesRef(t *testing.T) {
	for _, c := range []struct {
		pushed, watched string
		want            bool
	}{
		{"refs/heads/main", "main", true},
		{"refs/heads/main", "refs/heads/main", true},
		{"refs/tags/v1", "v1", true},
		{"main", "refs/heads/main", true},
		{"refs/heads/main", "refs/tags/main", false},
		{"refs/heads/Main", "main", false},
		{"refs/heads/feature/main", "main", false},
		{"", "main", false},
	} {
		if got := MatchesRef(c.pushed, c.watched); got != c.want {
			t.Errorf("%q and %q: %v", c.pushed, c.watched, got)
		}
	}
}

// TestNameOfARepository checks what messages call a repository: never with a password, also if its
// URL cannot be parsed, and without anything that a terminal obeys.
func TestNameOfARepository(t *testing.T) {
	for text, want := range map[string]string{
		"https://git.example/acme/shop":                   "https://git.example/acme/shop",
		"https://ada:s3cr3t@git.example/acme/shop":        "https://git.example/acme/shop",
		"https://s3cr3t@git.example/acme/shop":            "https://git.example/acme/shop",
		"https://ada:s3%cr3t@git.example/acme/shop":       "git.example/acme/shop",
		"https://ada:s3 cr3t@git.example/acme/shop":       "git.example/acme/shop",
		"https://ada:s3@cr3t@git.example:x/acme":          "git.example:x/acme",
		"git@git.example:acme/shop.git":                   "git.example:acme/shop.git",
		"ada:s3cr3t@git.example/acme/shop":                "git.example/acme/shop",
		"https://git.example/\x1b[2J":                     "https://git.example/ [2J",
		"https://git.example/" + strings.Repeat("x", 300): "https://git.example/" + strings.Repeat("x", 180) + "…",
	} {
		if got := repository(text).String(); got != want {
			t.Errorf("%q is called %q, want %q", text, got, want)
		}
	}
	if got := (Repository{Path: "/scm/\u202eacme"}).String(); got != "/scm/ acme" {
		t.Errorf("the path is shown as %q", got)
	}
	if !repository("", "").IsZero() || repository("", "x").IsZero() {
		t.Error("a repository is unknown if and only if it has no URL and no path")
	}
}

// TestOneRepositoryInAnySpelling checks that the spellings of git of one repository match each other.
func TestOneRepositoryInAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.StringMatching(`[a-z]{1,8}\.(example|test)`).Draw(t, "host")
		path := rapid.StringMatching(`[a-z0-9_-]{1,8}(/[a-z0-9_.-]{0,6}[a-z0-9]){1,2}`).Draw(t, "path")
		spellings := []string{"https://" + host + "/" + path, "https://" + strings.ToUpper(host) + "/" + path + ".git",
			"ssh://git@" + host + ":2222/" + path + ".git", "git@" + host + ":" + path, "http://" + host + ":8080/" + path + "/"}
		a, b := rapid.SampledFrom(spellings).Draw(t, "a"), rapid.SampledFrom(spellings).Draw(t, "b")
		if got := repository(a).Matches(b); got != SameRepository {
			t.Errorf("%s and %s: %v", a, b, got)
		}
		if got := repository(a).Matches("https://other." + host + "/" + path); got != SamePathElsewhere {
			t.Errorf("%s on another host: %v", a, got)
		}
		if got := repository(a).Matches("https://" + host + "/" + path + "x"); got != DifferentRepository {
			t.Errorf("%s and its namesake with an x: %v", a, got)
		}
	})
}
