package image

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

func TestParseRepository(t *testing.T) {
	for text, want := range map[string]string{
		"ghcr.io/acme/api": "ghcr.io/acme/api", "nginx": "docker.io/library/nginx", "acme/api": "docker.io/acme/api",
		"docker.io/nginx": "docker.io/library/nginx", "localhost/api": "localhost/api",
		"127.0.0.1:5000/a/b_c.d-e": "127.0.0.1:5000/a/b_c.d-e", "GHCR.io/acme/api": "ghcr.io/acme/api",
		"Docker.io/nginx": "docker.io/library/nginx", "index.docker.io/nginx": "docker.io/library/nginx",
		"index.docker.io/acme/api": "docker.io/acme/api", "docker.io:443/nginx": "docker.io:443/nginx",
		"": "", "https://ghcr.io/acme/api": "", "ghcr.io/acme/api:1": "", "ghcr.io/Acme/api": "", "ghcr.io/../api": "",
		"ghcr.io/acme//api": "", "ghcr.io/": "", "user@ghcr.io/acme": "", "ghcr.io/" + strings.Repeat("a", 2000): "",
		"ghcr.io/acme/api\n": "", "ghcr.io /api": "", "-ghcr.io/api": "", "ghcr.io:/api": "", "ghcr.io:123456/api": "",
		"[::1]:5000/api": "", "ghcr.io/a___b": "", "ghcr.io/.a": "", "ghcr.io/a-": "", "ghcr.io/%2e%2e": "",
	} {
		got, err := ParseRepository(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%.60s: got %s, %v, want %s", text, got, err, want)
		}
		if err != nil && (len(err.Error()) > 400 || !strings.Contains(err.Error(), "write it like ghcr.io/acme/ledger-api")) {
			t.Errorf("%.60s: the error %q has no remedy, or is too long", text, err)
		}
	}
}

// TestOneNameOfARepository checks that an address in its full form is the same address, so that two
// configs name one repository alike.
func TestOneNameOfARepository(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`((index\.)?[Dd]ocker\.io/|[a-zA-Z0-9.:-]{1,9}/)?[a-z0-9._/-]{1,20}`).Draw(t, "address")
		repository, err := ParseRepository(text)
		if err != nil {
			return
		}
		again, err := ParseRepository(repository.String())
		if err != nil || again != repository {
			t.Errorf("%s is %s, and that is %s: %v", text, repository, again, err)
		}
		if want := "oci://" + repository.String(); CredentialAddress(repository) != want {
			t.Errorf("the credential is looked up for %s, want %s", CredentialAddress(repository), want)
		}
	})
}

func TestParseTag(t *testing.T) {
	digest, longest := sha256digest.Of([]byte("x")), strings.Repeat("a", 128)
	for text, want := range map[string]string{
		"1.4": "1.4 ", digest: " " + digest, "1.4@" + digest: "1.4 " + digest, longest: longest + " ",
		"": "-", "a/b": "-", "@" + digest: "-", "1.4@latest": "-", "1.4@": "-", "{{.nuon}}": "-",
		longest + "a": "-", ".1": "-", "-1": "-", "1.4\n": "-", "1 4": "-", "sha256:abc": "-",
		digest + "@" + digest: "-", "1.4@" + digest + "@" + digest: "-", "1.4@sha512:" + longest: "-",
		strings.ToUpper(digest): "-",
	} {
		tag, got, err := ParseTag(text)
		if said := tag + " " + got; (err != nil) != (want == "-") || err == nil && said != want {
			t.Errorf("%s: got %s, %v, want %s", text, said, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "sha256:") {
			t.Errorf("%s: the error %q does not show a right form", text, err)
		}
	}
}

// TestNewest checks which tag an update policy selects.
func TestNewest(t *testing.T) {
	for name, test := range map[string]struct {
		policy string
		tags   []string
		want   string
	}{
		"the newest of the minor version": {"~1.10.0", []string{"1.9.9", "1.10.2", "1.10.10", "1.11.0"}, "1.10.10"},
		"by number and not by text":       {"^2", []string{"2.9.0", "2.10.0"}, "2.10.0"},
		"no pre-release":                  {"^2", []string{"2.0.0", "2.1.0-rc.1"}, "2.0.0"},
		"pre-releases on demand":          {">=2.0.0-0", []string{"2.0.0", "2.1.0-rc.1"}, "2.1.0-rc.1"},
		"with a v":                        {"^1", []string{"v1.2.0", "1.1.0"}, "v1.2.0"},
		"without a v, of two alike":       {"^1", []string{"v1.2.0", "1.2.0"}, "1.2.0"},
		"in any order":                    {"^1", []string{"1.2.0", "v1.2.0"}, "1.2.0"},
		"nothing else is a version": {"*", []string{"latest", "1", "1.2", "01.2.3", "1.2.3.4", "vv1.2.3", "1.2.3 ", "",
			"1.2.3-" + strings.Repeat("a", 200), "99999999999999999999999.0.0"}, ""},
		"none that matches": {"^3", []string{"1.0.0", "2.0.0"}, ""},
		"no tags":           {"*", nil, ""},
	} {
		policy, err := ParseConstraint(test.policy)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, found := policy.Newest(test.tags); got != test.want || found != (test.want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, found, test.want)
		}
	}
	for _, text := range []string{"latest", "~~1", "1.x.y", ">", "^1 ||", "\x00", strings.Repeat(">", 5000)} {
		if _, err := ParseConstraint(text); err == nil || len(err.Error()) > 1000 ||
			!strings.Contains(err.Error(), "write it like ~1.10.0") {
			t.Errorf("%.20q: %.300v", text, err)
		}
	}
}
