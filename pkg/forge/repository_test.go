package forge

import "testing"

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

// TestStringHidesPasswords covers passwords that a script may put into a URL.
func TestStringHidesPasswords(t *testing.T) {
	if got := repository("https://ada:hush@git.example/acme/shop").String(); got != "https://git.example/acme/shop" {
		t.Errorf("got %s", got)
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
