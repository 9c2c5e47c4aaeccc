package configfetch

import (
	"path"
	"strings"
	"testing"
	"unicode"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]reference{
		"https://example.com/a/b.yaml":                          {scheme: web},
		"http://example.com/a?x=1":                              {scheme: web},
		"https://example.com/?file=a":                           {scheme: web},
		"https://example.com/a#part":                            {scheme: web},
		"git::https://example.com/o/r.git//a/b.yaml":            {scheme: git, path: "a/b.yaml"},
		"git::https://example.com/o/r//a%20b?ref=v1":            {scheme: git, path: "a b", ref: "v1"},
		"git::https://example.com/o/r//a?ref=feature/x&depth=1": {scheme: git, path: "a", ref: "feature/x"},
		"git::github.com/o/r//a?ref=" + strings.Repeat("0123",
			10): {scheme: git, path: "a", ref: strings.Repeat("0123", 10)},
		"git::http://127.0.0.1:3000/o/r//a": {scheme: git, path: "a"},
		"file:///srv/a.yaml":                {scheme: local, path: "/srv/a.yaml"},
		"file://localhost/srv/a%20b":        {scheme: local, path: "/srv/a b"},
	} {
		got, problem := parse(text)
		if problem != nil {
			t.Errorf("%s: %v", text, problem)
			continue
		}
		if got.scheme != want.scheme || got.path != want.path || got.ref != want.ref {
			t.Errorf("%s: got %+v", text, got)
		}
	}
	for text, want := range map[string]string{
		"git::https://example.com/o/r.git//a/b?ref=x": "https://example.com/o/r.git",
		"git::github.com/o/r//a":                      "https://github.com/o/r",
		"git::https://example.com/o%2Fr//a":           "https://example.com/o%2Fr",
		"https://example.com/a?b=c#d":                 "https://example.com/a?b=c",
	} {
		if got, problem := parse(text); problem != nil || got.url.String() != want {
			t.Errorf("%s: got %v, %v, want %s", text, got.url, problem, want)
		}
	}
}

func TestRefusedReferences(t *testing.T) {
	for text, word := range map[string]string{
		"":                              "begins with none",
		"./a":                           "begins with none",
		"github.com/o/r//path":          "begins with none",
		"httpfoo":                       "begins with none",
		"HTTPS://example.com/a":         "begins with none",
		"s3::https://example.com/a":     "begins with none",
		"https://":                      "names no server",
		"https:///etc/passwd":           "names no server",
		"https://:443/a":                "names no server",
		"https://example.com":           "no file there",
		"https://example.com/":          "no file there",
		"https://exa mple.com/a":        "no address has",
		"https://example.com/a\x1b[31m": "no address has",
		"https://example.com/\xff":      "no address has",
		"https://example.com/a\u202eb":  "no address has",
		"https://example.com/%zz":       "not a URL",
		"https://example.com/" + strings.Repeat("a", 3000): "longer than",
		"https://x/{{.nuon.install.id}}":                   "template",
		"https://ada:hunter2@example.com/a":                "user name or a password",
		"https://hunter2@example.com/a":                    "user name or a password",
		"git::https://ada:hunter2@example.com/o/r//a":      "user name or a password",
		"git::ssh://git@example.com/o/r//a":                "ssh",
		"git::git@example.com:o/r.git//a":                  "ssh",
		"git::ext::sh -c id":                               "no address has",
		"git::ext::sh//a":                                  "names no server",
		"git::git://example.com/o/r//a":                    "https only",
		"git::file:///srv/repo//a":                         "this machine",
		"git::/srv/repo//a":                                "names no server",
		"git::../repo//a":                                  "names no server",
		"git::https://example.com/o/r":                     "which file",
		"git::https://example.com/o/r/a":                   "which file",
		"git::https://example.com//a":                      "which file",
		"git::https://example.com/o/r//":                   "none inside",
		"git::https://example.com/o/r//../a":               "none inside",
		"git::https://example.com/o/r//a/../../b":          "none inside",
		"git::https://example.com/o/r//%2e%2e/a":           "none inside",
		"git::https://example.com/o/r///etc/passwd":        "none inside",
		"git::https://example.com/o/r//a//b":               "none inside",
		"git::https://example.com/o/r//a/":                 "none inside",
		"git::https://example.com/o/r//a%00b":              "cannot be read",
		"git::https://example.com/o/r//a?ref=x&ref=y":      "none that git knows",
		"git::https://example.com/o/r//a?sshkey=x":         "another key",
		"git::https://example.com/o/r//a?ref=%0a":          "none that git knows",
		"file://elsewhere/a":                               "no file of this machine",
		"file://a":                                         "no file of this machine",
		"file:///a?b":                                      "no file of this machine",
		"file://":                                          "no file of this machine",
	} {
		_, problem := parse(text)
		switch {
		case problem == nil:
			t.Errorf("%q was let through", text)
		case !strings.Contains(problem.Why, word) || problem.Remedy == "" || problem.Temporary:
			t.Errorf("%q: got %q, want words with %q", text, problem.Why, word)
		case strings.Contains(problem.Why+problem.Remedy, "hunter2"):
			t.Errorf("%q: the password is in the words: %s", text, problem)
		}
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{"a\x1b[31mb\r\nc": "a [31mb  c", "\xffok": "\uFFFDok",
		"a\u202eb": "a b", " ok ": "ok"} {
		if got := sanitize(text, 100); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := sanitize(strings.Repeat("é", 50), 10); got != strings.Repeat("é", 10)+"…" {
		t.Errorf("got %q", got)
	}
}

// Any reference that is accepted leads to a server by name, or to a path that does not leave its
// root.
func FuzzReference(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/a", "http://[::1]:80/a?b", "git::https://example.com/o/r.git//a/b?ref=main",
		"git::github.com/o/r//a", "file:///a/../b", "git::git@example.com:o/r//a", "https://u:p@h/a",
		"git::https://h/r//%2e%2e/%2e%2e/a", "git::https://h//r//a",
		"https://\x00", "git::::", "git::a.b",
		"git::https://h/r//a?ref=%ff", "git::a.b?//c", "git::a.b#//c", "https://h/%2f%2f", "git::https://h/%2f//x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, problem := parse(text)
		if problem != nil {
			if problem.Why == "" || problem.Remedy == "" ||
				strings.ContainsFunc(problem.Why+problem.Remedy, unicode.IsControl) || len(problem.Why) > 400 {
				t.Fatalf("%q: bad words: %+v", text, problem)
			}
			return
		}
		switch got.scheme {
		case web:
			if got.path != "" || got.ref != "" {
				t.Fatalf("%q: %+v", text, got)
			}
		case git:
			if got.path == "" || path.IsAbs(got.path) || path.Clean(got.path) != got.path ||
				strings.HasPrefix(got.path, "..") && (len(got.path) == 2 || got.path[2] == '/') {
				t.Fatalf("%q leads out of the repository: %q", text, got.path)
			}
			if got.url.RawQuery != "" || got.url.Path == "" {
				t.Fatalf("%q: the repository is %s", text, got.url)
			}
		case local:
			if !path.IsAbs(got.path) || got.url != nil {
				t.Fatalf("%q: %+v", text, got)
			}
			return
		}
		if got.url.User != nil || got.url.Hostname() == "" || got.url.Scheme != "https" && got.url.Scheme != "http" ||
			got.url.Fragment != "" {
			t.Fatalf("%q leads to %s", text, got.url)
		}
	})
}
