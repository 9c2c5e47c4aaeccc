package observe

import (
	"strings"
	"testing"
)

func TestParseRepository(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/a/b.git":  "https://example.com/a/b.git",
		"HTTPS://Example.COM/a/b.git/": "https://example.com/a/b.git",
		"https://example.com:8443/a":   "https://example.com:8443/a",
		"http://127.0.0.1:3000/a":      "http://127.0.0.1:3000/a",
		"file:///srv/git/a":            "file:///srv/git/a",
		"file://localhost/srv/git/a/":  "file:///srv/git/a",
	} {
		got, err := parseRepository(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, word := range map[string]string{
		"":                                     "https://",
		"git@example.com:a/b.git":              "https://",
		"ssh://git@example.com/a":              "user name",
		"ssh://example.com/a":                  "https://",
		"git://example.com/a":                  "https://",
		"ext::sh -c id":                        "https://",
		"https://user:hunter2@host/a":          "credential",
		"https://host":                         "names no repository",
		"https://host/a?x=1":                   "query",
		"https://host/a#x":                     "fragment",
		"file://elsewhere/srv/a":               "absolute",
		"/srv/git/a":                           "https://",
		"https://" + strings.Repeat("a", 3000): "characters",
	} {
		_, err := parseRepository(text)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: got %v, want words with %q", text, err, word)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in the words: %v", err)
		}
	}
}

func TestCheckRef(t *testing.T) {
	for _, ref := range []string{"main", "v1.2", "feature/x", "refs/heads/main", strings.Repeat("a", 40)} {
		if err := checkRef(ref); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
	for _, ref := range []string{"", "-x", "a..b", "a b", "a\nb", "a~1", "a^", "a:b", "x.lock", "/a", "a/", "@{u}",
		strings.Repeat("a", 300)} {
		if checkRef(ref) == nil {
			t.Errorf("%q was let through", ref)
		}
	}
}

func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mb\r\nc": "a [31mb  c",
		"\xff\xfeok":      "�ok",
		"a\x00b":          "a b",
		"a\u202eb":        "a b",
		"  ok  ":          "ok",
	} {
		if got := PlainText(text, 100); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := PlainText(strings.Repeat("é", 50), 10); got != strings.Repeat("é", 10)+"…" {
		t.Errorf("got %q", got)
	}
}

func TestCovers(t *testing.T) {
	patterns := []string{"https://git.example/acme/app", "https://git.example/all/*", "https://whole.example/*",
		"https://git.example:8443/a/b.git"}
	for url, want := range map[string]bool{
		"https://git.example/acme/app":           true,
		"https://GIT.example/acme/app.git/":      true,
		"https://git.example/acme/app2":          false,
		"https://git.example/acme":               false,
		"https://git.example/acme/app/sub":       false,
		"https://git.example/Acme/app":           false,
		"http://git.example/acme/app":            false,
		"https://git.example:444/acme/app":       false,
		"https://git.example.evil/acme/app":      false,
		"https://evil/git.example/acme/app":      false,
		"https://git.example/all/x":              true,
		"https://git.example/all/x/y.git":        true,
		"https://git.example/all":                false,
		"https://git.example/allx/y":             false,
		"https://git.example/all/../acme2/x":     false,
		"https://git.example/all/%2e%2e/acme2/x": false,
		"https://git.example/all/..%2facme2/x":   false,
		"https://git.example/all/%252e%252e/x":   false,
		"https://git.example/all/.%5c../x":       false,
		"https://git.example/all//x":             false,
		"https://whole.example/a":                true,
		"https://whole.example/a/b/c":            true,
		"https://whole.example":                  false,
		"https://git.example:8443/a/b":           true,
		"https://user:pw@git.example/acme/app":   false,
		"https://git.example/acme/app?x=y":       false,
		"file:///git.example/acme/app":           false,
		"":                                       false,
	} {
		if got := patternsCover(patterns, url); got != want {
			t.Errorf("%q: got %t", url, got)
		}
	}
	if patternsCover(nil, "https://git.example/acme/app") {
		t.Error("a credential for nothing is for everything")
	}
}

func TestSameHost(t *testing.T) {
	if !SameHost("https://a.example/x", "https://A.example/y.git") ||
		SameHost("https://a.example/x", "https://b.example/x") || SameHost("https://a/x", "http://a/x") {
		t.Error("a credential may follow to the same server only")
	}
}
