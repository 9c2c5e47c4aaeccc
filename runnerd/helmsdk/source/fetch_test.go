package source

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

func TestARepository(t *testing.T) {
	s := newShop(t)
	web := packedChart(t, "web", "1.10.0", "appVersion: \"7\"")
	s.publish("/stable", map[string][]byte{"web 1.9.0": packedChart(t, "web", "1.9.0"), "web 1.10.0": web,
		"web 2.0.0-rc.1": packedChart(t, "web", "2.0.0-rc.1")})
	fetcher, _ := s.fetcher(t)
	for wanted, version := range map[string]string{"": "1.10.0", "1.9.0": "1.9.0", "~1.9": "1.9.0",
		">=2.0.0-0": "2.0.0-rc.1", "1": "1.10.0"} {
		got, err := fetcher.FromRepository(t.Context(), s.web.URL+"/stable/", "web", wanted)
		if err != nil || got.Version != version {
			t.Fatalf("%q: got %+v, %v", wanted, got, err)
		}
	}
	got, err := fetcher.FromRepository(t.Context(), s.web.URL+"/stable", "web", "")
	if err != nil {
		t.Fatal(err)
	}
	if pathsOf(got) != "Chart.yaml templates/x.yaml values.yaml" || got.Digest != sha256digest.Of(web) ||
		got.Origin != s.web.URL+"/stable/web-1.10.0.tgz" || got.AppVersion != "7" {
		t.Errorf("got %+v", got)
	}
	direct, err := fetcher.FromURL(t.Context(), s.web.URL+"/stable/web-1.10.0.tgz")
	if err != nil || direct.Digest != got.Digest {
		t.Errorf("got %+v, %v", direct, err)
	}
}

func TestARegistry(t *testing.T) {
	s := newShop(t)
	for _, tag := range []string{"1.0.0", "1.2.0", "2.0.0-rc.1", "latest"} {
		s.push(t, "team/web", tag, packedChart(t, "web", strings.ReplaceAll(tag, "latest", "9.9.9")))
	}
	fetcher, _ := s.fetcher(t)
	for wanted, version := range map[string]string{"": "1.2.0", "1.0.0": "1.0.0", "~1.0": "1.0.0",
		"2.0.0-rc.1": "2.0.0-rc.1"} {
		got, err := fetcher.FromRepository(t.Context(), "oci://"+s.host()+"/team", "web", wanted)
		if err != nil || got.Version != version || !strings.HasPrefix(got.Digest, "sha256:") {
			t.Fatalf("%q: got %+v, %v", wanted, got, err)
		}
	}
}

// TestPrivateChartRepositories: a repository and a registry get the credential for their own addresses, and a
// server for which there is none gets none.
func TestPrivateChartRepositories(t *testing.T) {
	s := newShop(t)
	s.publish("/stable", map[string][]byte{"web 1.0.0": packedChart(t, "web", "1.0.0")})
	s.push(t, "team/web", "1.0.0", packedChart(t, "web", "1.0.0"))
	s.login = "acme:s3cret"
	fetcher, _ := s.fetcher(t)
	repositories := []string{s.web.URL + "/stable", "oci://" + s.host() + "/team"}
	for _, repository := range repositories {
		_, err := fetcher.FromRepository(t.Context(), repository, "web", "1.0.0")
		refused(t, err, "401", "nuon credentials create NAME --chart")
	}
	var lookups []string
	fetcher.options.Credential = func(_ context.Context, address string) (job.ModuleCredential, error) {
		lookups = append(lookups, address)
		return job.ModuleCredential{Username: "acme", Secret: seal.NewSecret([]byte("s3cret"))}, nil
	}
	for _, repository := range repositories {
		if _, err := fetcher.FromRepository(t.Context(), repository, "web", "1.0.0"); err != nil {
			t.Errorf("%s: %v", repository, err)
		}
	}
	want := []string{s.web.URL + "/stable/index.yaml", s.web.URL + "/stable/web-1.0.0.tgz",
		"oci://" + s.host() + "/team/web"}
	if !slices.Equal(lookups, want) {
		t.Errorf("credentials were looked up for %q, want %q", lookups, want)
	}
}

// TestCredentialsForAmbiguousAddresses: no credential is looked up for an address without TLS, or one that
// servers may read in more than one way, and a query is not part of the address.
func TestCredentialsForAmbiguousAddresses(t *testing.T) {
	var asked string
	s := &session{Fetcher: New(Options{Credential: func(_ context.Context, address string) (job.ModuleCredential, error) {
		asked = address
		return job.ModuleCredential{}, nil
	}}), ctx: t.Context()}
	for address, want := range map[string]string{
		"https://a.test/x.tgz?sig=1": "https://a.test/x.tgz", "http://127.0.0.1/x.tgz": "", "https://a.test/b/../x.tgz": "",
		"https://a.test//x.tgz": "", "https://a.test/b%2fx.tgz": "", "https://a.test/b%25x.tgz": "",
	} {
		asked = ""
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.credential(at); err != nil || asked != want {
			t.Errorf("%s: a credential was looked up for %q, %v, want %q", address, asked, err, want)
		}
	}
}

func TestFetchingThatIsRefused(t *testing.T) {
	s := newShop(t)
	s.publish("/stable", map[string][]byte{
		"web 1.0.0": packedChart(t, "web", "1.0.0"), "lib 1.0.0": packedChart(t, "lib", "1.0.0", "type: library"),
		"lean 1.0.0": packedChart(t, "lean", "1.0.0", needs("x 1 https://x.example.com")),
		"liar 1.0.0": packedChart(t, "liar", "2.0.0"),
	})
	s.files["/short/index.yaml"] = []byte(strings.ReplaceAll(string(s.files["/stable/index.yaml"]), "digest: ",
		"digest: x"))
	s.files["/json/index.yaml"] = []byte(`{"entries": {"web": [{"version": 1}]}}`)
	s.push(t, "team/web", "1.0.0", packedChart(t, "web", "1.0.0"))
	s.push(t, "team/forged", "1.0.0", packedChart(t, "forged", "1.0.0"))
	s.push(t, "team/image", "1.0.0", []byte("{}"))
	for name, content := range s.files {
		switch {
		case strings.Contains(name, "team/forged/blobs/"):
			s.files[name] = append([]byte{}, append(content[:len(content)-1:len(content)-1], 'x')...)
		case strings.Contains(name, "team/image/manifests/"):
			s.files[name] = []byte(strings.ReplaceAll(string(content), "helm", "docker"))
		}
	}
	stable, registry := s.web.URL+"/stable", "oci://"+s.host()+"/team"
	for name, test := range map[string]struct {
		repository, chart, version string
		want                       []string
	}{
		"no such chart":      {stable, "wbe", "", []string{`chart "wbe" from ` + stable, `did you mean "web"?`}},
		"no such version":    {stable, "web", "1.0.1", []string{`chart "web"`, "version 1.0.1", "the newest are 1.0.0"}},
		"a library":          {stable, "lib", "", []string{"is a library"}},
		"packed without":     {stable, "lean", "", []string{`"x"`, "helm dependency build"}},
		"another version":    {stable, "liar", "1.0.0", []string{`"1.0.0"`, `"2.0.0"`}},
		"no digest":          {s.web.URL + "/short", "web", "", []string{"invalid digest"}},
		"odd JSON":           {s.web.URL + "/json", "web", "", []string{"/json/index.yaml", `chart "web"`}},
		"a hostile chart":    {stable, "../web", "", []string{`"../web"`, "letters, digits"}},
		"a hostile address":  {"https://[::1", "web", "", []string{"https://host/path"}},
		"no tag":             {registry, "web", "3.0.0", []string{registry, "version 3.0.0", "the newest are 1.0.0"}},
		"no repository":      {registry, "wbe", "1.0.0", []string{`chart "wbe"`, "404", "check the address"}},
		"nothing to list":    {registry, "wbe", "", []string{`chart "wbe"`, "404"}},
		"forged":             {registry, "forged", "1.0.0", []string{"it is not used"}},
		"an image":           {registry, "image", "1.0.0", []string{"not a chart", "helm push"}},
		"nobody listens":     {"https://127.0.0.1:1", "web", "", []string{"127.0.0.1:1", "refuses connections"}},
		"nobody listens OCI": {"oci://127.0.0.1:1/team", "web", "1.0.0", []string{"127.0.0.1:1", "refuses connections"}},
		"no such name":       {"https://nowhere.invalid", "web", "", []string{"nowhere.invalid"}},
		"a cloud's own":      {"https://169.254.169.254", "web", "", []string{"169.254.169.254", "no chart is read"}},
	} {
		t.Run(name, func(t *testing.T) {
			fetcher, _ := s.fetcher(t)
			_, err := fetcher.FromRepository(t.Context(), test.repository, test.chart, test.version)
			refused(t, err, test.want...)
		})
	}
}

// TestPrivateAddresses: no private address is dialed, in any notation, unless the
// owner of the runner allows it.
func TestPrivateAddresses(t *testing.T) {
	s := newShop(t)
	s.publish("", map[string][]byte{"web 1.0.0": packedChart(t, "web", "1.0.0")})
	for _, repository := range []string{s.web.URL, s.plain.URL, "oci://" + s.host() + "/team",
		strings.Replace(s.web.URL, "127.0.0.1", "localhost", 1)} {
		_, err := New(Options{}).FromRepository(t.Context(), repository, "web", "1.0.0")
		refused(t, err, job.VarChartsPrivate+"=1")
	}
	if len(s.asked) > 0 {
		t.Errorf("it was asked for %v", s.asked)
	}
}

// TestAnswersThatAreRefused tests hostile responses of a server.
func TestAnswersThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			"nuon credentials create NAME --chart"},
		"asks who": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
			"nuon credentials create NAME --chart"},
		"round": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) },
			"redirected more than 5 times"},
		"to plain": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "from https to"},
		"to a cloud": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://169.254.169.254/", http.StatusFound)
		}, "no chart is read"},
		"to a user": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://a:b@127.0.0.1/", http.StatusFound)
		}, "a user name or a password"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			megabyte := strings.Repeat("x", 1<<20)
			for _, err := fmt.Fprint(w, megabyte); err == nil; _, err = fmt.Fprint(w, megabyte) { //nolint:revive // all is in the head
			}
		}, "larger than may be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.web.Config.Handler = test.answer
			fetcher, _ := s.fetcher(t)
			_, err := fetcher.FromRepository(t.Context(), s.web.URL, "web", "")
			refused(t, err, s.web.URL, test.want)
		})
	}
}

// TestAServerThatIsBusy: the request is retried, and fails after the last try.
func TestAServerThatIsBusy(t *testing.T) {
	s := newShop(t)
	times := 0
	s.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		times++
		w.WriteHeader(http.StatusBadGateway)
	})
	fetcher, _ := s.fetcher(t)
	_, err := fetcher.FromRepository(t.Context(), s.web.URL, "web", "")
	refused(t, err, "502 Bad Gateway", "build again later")
	if times != tries {
		t.Errorf("it was asked %d times", times)
	}
}

// TestAServerThatSaysNothing: a server without a response ends in a timeout.
func TestAServerThatSaysNothing(t *testing.T) {
	s := newShop(t)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	s.web.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	fetcher, _ := s.fetcher(t)
	fetcher.options.Timeout = 50 * time.Millisecond
	_, err := fetcher.FromRepository(t.Context(), s.web.URL, "web", "")
	refused(t, err, "longer than 50ms")
}
