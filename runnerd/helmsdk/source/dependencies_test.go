package source

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// lockOf returns a lock as written by `helm dependency update`: with a time, and the
// digest of both lists.
func lockOf(t *testing.T, chartYAML string, locked ...string) string {
	t.Helper()
	var m chart.Metadata
	if err := yaml.Unmarshal([]byte(chartYAML), &m); err != nil {
		t.Fatal(err)
	}
	var list []*chart.Dependency
	for i, l := range locked {
		words := strings.Split(l, " ")
		list = append(list, &chart.Dependency{Name: words[0], Version: words[1], Repository: words[2]})
		if isAlias(m.Dependencies[i].Repository) {
			m.Dependencies[i].Repository = words[2]
		}
	}
	text, err := yaml.Marshal(map[string]any{
		"dependencies": list, "digest": digestOf([2][]*chart.Dependency{m.Dependencies, list}),
		"generated": "2024-05-06T07:08:09Z",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheDigestOfALock compares our digest of a lock with the one in Helm's own test.
func TestTheDigestOfALock(t *testing.T) {
	asked := []*chart.Dependency{{Name: "alpine", Repository: "http://localhost:8879/charts", Version: "0.1.0"}}
	locked := []*chart.Dependency{{Name: "alpine", Repository: "http://localhost:8879/charts", Version: "0.1.0"}}
	want := "sha256:fb239e836325c5fa14b29d1540a13b7d3ba13151b67fe719f820e0ef6d66aaaf" // internal/resolver/resolver_test.go
	if got := digestOf([2][]*chart.Dependency{asked, locked}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDependencies(t *testing.T) {
	s := newShop(t)
	redis1, redis2 := packedChart(t, "redis", "1.0.0"), packedChart(t, "redis", "1.1.0")
	s.publish("/stable", map[string][]byte{"redis 1.0.0": redis1, "redis 1.1.0": redis2,
		"redis 2.0.0-beta": packedChart(t, "redis", "2.0.0-beta")})
	s.push(t, "charts/db", "5.0.0_b1", packedChart(t, "db", "5.0.0+b1"))
	stable, registry := s.web.URL+"/stable", "oci://"+s.host()+"/charts"
	asksRedis := yamlOf("app", "1.0.0", needs("redis ^1 "+stable))
	asksAlias := yamlOf("app", "1.0.0", needs("redis ^1 @stable"))
	v1 := "apiVersion: v1\nname: app\nversion: 1.0.0\n"
	for name, test := range map[string]struct {
		files []string
		paths string
		deps  []string
	}{
		"resolved now": {[]string{"Chart.yaml", asksRedis}, "Chart.lock Chart.yaml charts/redis-1.1.0.tgz",
			[]string{"redis 1.1.0 from " + stable + "/redis-1.1.0.tgz"}},
		"locked": {[]string{"Chart.yaml", asksRedis, "Chart.lock", lockOf(t, asksRedis, "redis 1.0.0 "+stable)},
			"Chart.lock Chart.yaml charts/redis-1.0.0.tgz", []string{"redis 1.0.0 from"}},
		"lying there": {[]string{"Chart.yaml", asksRedis, "charts/redis-1.0.0.tgz", string(redis1)},
			"Chart.lock Chart.yaml charts/redis-1.0.0.tgz", []string{"redis 1.0.0 from app/charts/redis-1.0.0.tgz (sha256:"}},
		"lying there, but another is locked": {[]string{"Chart.yaml", asksRedis, "Chart.lock",
			lockOf(t, asksRedis, "redis 1.0.0 "+stable), "charts/redis-1.1.0.tgz", string(redis2)},
			"Chart.lock Chart.yaml charts/redis-1.0.0.tgz", []string{"redis 1.0.0 from " + stable}},
		"a directory": {[]string{"Chart.yaml", asksRedis, "charts/redis/Chart.yaml", yamlOf("redis", "1.5.0"),
			"charts/redis/values.yaml", ""},
			"Chart.lock Chart.yaml charts/redis/Chart.yaml charts/redis/values.yaml",
			[]string{"redis 1.5.0 from app/charts/redis"}},
		"a name that the lock knows": {[]string{"Chart.yaml", asksAlias, "Chart.lock",
			lockOf(t, asksAlias, "redis 1.0.0 "+stable)},
			"Chart.lock Chart.yaml charts/redis-1.0.0.tgz", []string{"redis 1.0.0 from " + stable}},
		"a registry": {[]string{"Chart.yaml", yamlOf("app", "1.0.0", needs("db 5.0.0+b1 "+registry))},
			"Chart.lock Chart.yaml charts/db-5.0.0+b1.tgz", []string{"db 5.0.0+b1 from " + registry + "/db:5.0.0_b1 (sha256:"}},
		"a registry's newest": {[]string{"Chart.yaml", yamlOf("app", "1.0.0", needs("db >=4 "+registry))},
			"Chart.lock Chart.yaml charts/db-5.0.0+b1.tgz", []string{"db 5.0.0+b1"}},
		"two aliases": {
			[]string{"Chart.yaml", yamlOf("app", "1.0.0", needs("redis 1.0.0 "+stable+" a", "redis 1.0.0 "+stable+" b"))},
			"Chart.lock Chart.yaml charts/redis-1.0.0.tgz", []string{"redis 1.0.0"}},
		"two versions": {
			[]string{"Chart.yaml", yamlOf("app", "1.0.0", needs("redis 1.0.0 "+stable+" a", "redis 1.1.0 "+stable+" b"))},
			"Chart.lock Chart.yaml charts/redis-1.0.0.tgz charts/redis-1.1.0.tgz", []string{"redis 1.0.0", "redis 1.1.0"}},
		"requirements.yaml": {[]string{"Chart.yaml", v1, "requirements.yaml", needs("redis 1.0.0 " + stable)},
			"Chart.yaml charts/redis-1.0.0.tgz requirements.lock requirements.yaml", []string{"redis 1.0.0"}},
		"nested": {[]string{"Chart.yaml", yamlOf("app", "1.0.0", needs("mid * file://../mid")), "../mid/Chart.yaml",
			yamlOf("mid", "0.3.0", needs("redis ~1.0 "+stable))},
			"Chart.lock Chart.yaml charts/mid/Chart.lock charts/mid/Chart.yaml charts/mid/charts/redis-1.0.0.tgz",
			[]string{"redis 1.0.0", "mid 0.3.0 from mid"}},
		"nested below charts": {[]string{"Chart.yaml", yamlOf("app", "1.0.0"), "charts/mid/Chart.yaml",
			yamlOf("mid", "0.3.0", needs("redis ~1.0 "+stable))},
			"Chart.yaml charts/mid/Chart.lock charts/mid/Chart.yaml charts/mid/charts/redis-1.0.0.tgz", []string{"redis 1.0.0"}},
		"the directory wins": {[]string{"Chart.yaml", yamlOf("app", "1.0.0", needs("mid * file://../mid")),
			"../mid/Chart.yaml", yamlOf("mid", "0.3.0"),
			"charts/mid-0.2.0.tgz", string(packedChart(t, "mid", "0.2.0"))}, "Chart.lock Chart.yaml charts/mid/Chart.yaml",
			[]string{"mid 0.3.0 from mid"}},
		"a copied chart with what it needs": {[]string{"Chart.yaml", yamlOf("app", "1.0.0"), "charts/mid/Chart.yaml",
			yamlOf("mid", "0.3.0", needs("lib * file://../../../../lib")),
			"charts/mid/charts/lib/Chart.yaml", yamlOf("lib", "0.1.0")},
			"Chart.yaml charts/mid/Chart.lock charts/mid/Chart.yaml charts/mid/charts/lib/Chart.yaml",
			[]string{"lib 0.1.0 from app/charts/mid/charts/lib"}},
		"packed instead of beside": {[]string{"Chart.yaml", yamlOf("app", "1.0.0", needs("mid * file://../mid")),
			"charts/mid-0.2.0.tgz", string(packedChart(t, "mid", "0.2.0"))},
			"Chart.lock Chart.yaml charts/mid-0.2.0.tgz", []string{"mid 0.2.0 from app/charts/mid-0.2.0.tgz"}},
		"not a dependency": {[]string{"Chart.yaml", yamlOf("app", "1.0.0"), "charts/_x.tgz", "no archive",
			"charts/README.md", ""},
			"Chart.yaml charts/README.md charts/_x.tgz", nil},
	} {
		t.Run(name, func(t *testing.T) {
			fetcher, _ := s.fetcher(t)
			var last string
			for range 2 {
				got, err := fetcher.FromTree(t.Context(), below("app", test.files), "app")
				if err != nil {
					t.Fatal(err)
				}
				if paths := pathsOf(got); paths != test.paths {
					t.Errorf("files\n%s, want\n%s", paths, test.paths)
				}
				if len(got.Dependencies) != len(test.deps) {
					t.Fatalf("dependencies %v, want %v", got.Dependencies, test.deps)
				}
				for i, want := range test.deps {
					if !strings.HasPrefix(got.Dependencies[i].String(), want) {
						t.Errorf("got %s, want %s", got.Dependencies[i], want)
					}
				}
				lock := contentOf(got, "Chart.lock")
				if last != "" && lock != last || lock != "" && !strings.Contains(strings.Join(test.files, " "), "Chart.lock") &&
					strings.Contains(lock, "generated") {
					t.Errorf("the lock is not the same each time, or has one:\n%s", lock)
				}
				last = lock
			}
		})
	}
}

// below moves pairs of path and content below a directory.
func below(dir string, pairs []string) (files []artifact.File) {
	moved := make([]string, len(pairs))
	for i, text := range pairs {
		if moved[i] = text; i%2 == 0 {
			if moved[i] = dir + "/" + text; strings.HasPrefix(text, "../") {
				moved[i] = text[3:]
			}
		}
	}
	return filesOf(moved...)
}

// TestOurLockIsALock: the lock that is written for resolved dependencies is used the
// next time, and has the digest that Helm computes.
func TestOurLockIsALock(t *testing.T) {
	s := newShop(t)
	s.publish("", map[string][]byte{"redis 1.0.0": packedChart(t, "redis", "1.0.0")})
	fetcher, _ := s.fetcher(t)
	asks := []string{"Chart.yaml", yamlOf("app", "1.0.0", needs("redis ^1 "+s.web.URL))}
	first, err := fetcher.FromTree(t.Context(), below("app", asks), "app")
	if err != nil {
		t.Fatal(err)
	}
	s.publish("", map[string][]byte{"redis 1.0.0": packedChart(t, "redis", "1.0.0"),
		"redis 1.9.0": packedChart(t, "redis", "1.9.0")})
	second, err := fetcher.FromTree(t.Context(), below("app", append(asks, "Chart.lock", contentOf(first, "Chart.lock"))),
		"app")
	if err != nil {
		t.Fatal(err)
	}
	if pathsOf(second) != pathsOf(first) {
		t.Errorf("got %s, want %s", pathsOf(second), pathsOf(first))
	}
}

func TestDependenciesThatAreRefused(t *testing.T) {
	s := newShop(t)
	s.publish("/stable", map[string][]byte{"redis 1.0.0": packedChart(t, "redis", "1.0.0"),
		"liar 1.0.0": packedChart(t, "redis", "1.0.0")})
	s.publish("/tampered", map[string][]byte{"redis 1.0.0": packedChart(t, "redis", "1.0.0")})
	s.files["/tampered/redis-1.0.0.tgz"] = packedChart(t, "redis", "1.0.0", "description: changed")
	s.files["/page/index.yaml"] = []byte("<!doctype html><html>")
	s.files["/broken/index.yaml"] = []byte("entries:\n  redis:\n  - version: [\n")
	s.files["/out/index.yaml"] = []byte("entries:\n  redis:\n  - version: 1.0.0\n    urls: [\"file:///etc/passwd\"]\n")
	s.files["/nowhere/index.yaml"] = []byte("entries:\n  redis:\n  - version: 1.0.0\n    urls: []\n")
	stable := s.web.URL + "/stable"
	asks := func(dependency string) []string {
		return []string{"README", "", "Chart.yaml", yamlOf("app", "1.0.0", needs(dependency))}
	}
	locked := yamlOf("app", "1.0.0", needs("redis ^1 "+stable))
	for name, test := range map[string]struct {
		files []string
		want  []string
	}{
		"another version": {asks("redis ^3 " + stable), []string{"app/Chart.yaml:7", `chart "redis"`, stable, "version ^3",
			"the newest are 1.0.0"}},
		"no version at all": {asks("redis one " + stable),
			[]string{"app/Chart.yaml:6", `"one"`, "neither a version nor a constraint"}},
		"another name": {asks("rediss 1 " + stable),
			[]string{"app/Chart.yaml:7", `chart "rediss"`, `did you mean "redis"?`}},
		"a hostile name": {asks("../x 1 " + stable), []string{"app/Chart.yaml:5", `"../x"`}},
		"no index": {asks("redis 1 " + s.web.URL + "/none"), []string{"app/Chart.yaml:7", "/none/index.yaml", "404",
			"check the address"}},
		"a page":           {asks("redis 1 " + s.web.URL + "/page"), []string{"a web page"}},
		"a broken index":   {asks("redis 1 " + s.web.URL + "/broken"), []string{"/broken/index.yaml", "helm repo index"}},
		"an index out":     {asks("redis 1 " + s.web.URL + "/out"), []string{"file:///etc/passwd", "https"}},
		"an index nowhere": {asks("redis 1 " + s.web.URL + "/nowhere"), []string{"names no address"}},
		"tampered": {asks("redis 1 " + s.web.URL + "/tampered"),
			[]string{"/tampered/redis-1.0.0.tgz", "it is not used"}},
		"another chart": {asks("liar 1 " + stable), []string{`what comes from`, `chart "redis" "1.0.0"`}},
		"only helm's name": {asks("redis 1 @stable"),
			[]string{"app/Chart.yaml:7", `"@stable"`, "write the repository's address"}},
		"an alias": {asks("redis 1 alias:stable"), []string{"app/Chart.yaml:7", "write the repository's address"}},
		"another scheme": {asks("redis 1 s3://bucket/x"),
			[]string{"app/Chart.yaml:7", "s3://bucket/x", "https://host/path or oci://"}},
		"plain http": {asks("redis 1 http://charts.example.com"), []string{"app/Chart.yaml:7", "https only"}},
		"a password": {asks("redis 1 https://me:hunter2@charts.example.com"),
			[]string{"app/Chart.yaml:7", "charts.example.com", "take it out"}},
		"climbs out": {asks("x 1 file://../../x"),
			[]string{"app/Chart.yaml:7", `"file://../../x"`, "leads out of the repository"}},
		"absolute":   {asks("x 1 file:///home/me/x"), []string{"app/Chart.yaml:7", "one person's machine"}},
		"not there":  {asks("x 1 file://../x"), []string{"app/Chart.yaml:7", `no "x" in the repository`}},
		"a link out": {append(asks("x 1 file://../x"), "../x", "-> app/README"), []string{`"app/README" is a file`}},
		"itself":     {asks("app 1 file://../app"), []string{"needs itself: app → app"}},
		"a circle": {append(asks("x 1 file://../x"), "../x/Chart.yaml",
			yamlOf("x", "1.0.0", needs("app 1 file://../app"))), []string{"app → x → app"}},
		"another called": {append(asks("x 1 file://../z"), "../z/Chart.yaml", yamlOf("zed", "1.0.0")),
			[]string{"app/Chart.yaml:7", `is called "zed"`}},
		"another directory": {append(asks("x ^2 file://../x"), "../x/Chart.yaml", yamlOf("x", "1.0.0")),
			[]string{"app/Chart.yaml:6", `has version "1.0.0"`, "helm dependency update app"}},
		"in charts only": {append(asks("x ^2 "), "charts/x/Chart.yaml", yamlOf("x", "1.0.0")),
			[]string{"app/Chart.yaml:5", "not in charts/ (there: x 1.0.0)"}},
		"an old lock": {[]string{"Chart.yaml", locked, "Chart.lock",
			lockOf(t, yamlOf("app", "1.0.0", needs("redis ^2 "+stable)), "redis 1.0.0 "+stable)},
			[]string{"app/Chart.lock", "app/Chart.yaml", "helm dependency update app", "commit Chart.lock"}},
		"a lock of another": {[]string{"Chart.yaml", locked, "Chart.lock", lockOf(t, locked, "redis 3.0.0 "+stable)},
			[]string{`locks redis at "3.0.0"`}},
		"a lock elsewhere": {[]string{"Chart.yaml", locked, "Chart.lock",
			lockOf(t, locked, "redis 1.0.0 https://other.example.com")}, []string{"other.example.com", "commit Chart.lock"}},
		"a lock of more": {[]string{"Chart.yaml", locked, "Chart.lock", "dependencies: []\n"},
			[]string{"locks 0 dependencies of 1"}},
		"a broken lock": {[]string{"Chart.yaml", locked, "Chart.lock", "dependencies: [\n"}, []string{"app/Chart.lock:"}},
		"a null lock": {[]string{"Chart.yaml", locked, "Chart.lock", "dependencies: [null]\n"},
			[]string{"commit Chart.lock"}},
		"no archive": {append(asks("redis 1 "+stable), "charts/redis-1.0.0.tgz", "text"),
			[]string{`"app/charts/redis-1.0.0.tgz"`, "helm package"}},
	} {
		t.Run(name, func(t *testing.T) {
			fetcher, _ := s.fetcher(t)
			_, err := fetcher.FromTree(t.Context(), below("app", test.files), "app")
			refused(t, err, test.want...)
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error holds a password")
			}
		})
	}
}

// TestAllProblemsAtOnce: every dependency that cannot be resolved is reported.
func TestAllProblemsAtOnce(t *testing.T) {
	_, err := New(Options{}).FromTree(t.Context(),
		below("app", []string{"Chart.yaml", yamlOf("app", "1.0.0", needs("x 1 file://../x", "y 1 file://../y"))}), "app")
	refused(t, err, "app/Chart.yaml:7", "app/Chart.yaml:10")
}
