package appconfig

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

func TestFetch(t *testing.T) {
	base := small().and(files{
		"metadata.toml": "version='v2'\nreadme='https://example.com/readme.md?token=hunter2'\n",
		"components/a.toml": moduleFile("a", "") + "[[var_file]]\n" +
			"contents='git::https://git.example/x//vars.tfvars?ref=v1'\n[[var_file]]\n" +
			"contents='https://example.com/readme.md?token=hunter2'\n",
	})
	var asked []string
	fetch := func(reference string, limit int64) ([]byte, error) {
		asked = append(asked, reference)
		if limit != 4<<20 {
			t.Errorf("the limit is %d", limit)
		}
		return []byte("text of " + reference), nil
	}
	app, found := Load(base.fs(), Options{Fetch: fetch})
	if app == nil || told(found, false) != "" {
		t.Fatal(found)
	}
	slices.Sort(asked)
	if len(asked) != 2 {
		t.Errorf("fetched %v", asked)
	}
	want := []RemoteFile{
		{"git::https://git.example/x//vars.tfvars?ref=v1", sha256digest.Of([]byte("text of " + asked[0])),
			int64(len("text of " + asked[0]))},
		{"https://example.com/readme.md?token=hunter2", sha256digest.Of([]byte("text of " + asked[1])),
			int64(len("text of " + asked[1]))},
	}
	if diff := cmp.Diff(want, app.Remote); diff != "" {
		t.Error(diff)
	}
	a, _ := app.Component("a")
	if app.NotFetched() != 0 || app.Metadata.Readme != "text of "+asked[1] ||
		a.Terraform.VarFiles[0] != "text of "+asked[0] {
		t.Errorf("%d unread; %q; %q", app.NotFetched(), app.Metadata.Readme, a.Terraform.VarFiles)
	}
	roundTrip(t, app)

	unread, found := Load(base.fs(), Options{})
	if unread == nil || told(found, false) != "" || unread.NotFetched() != 2 || unread.Remote[0].Digest != "" {
		t.Errorf("%v, %+v", found, unread)
	}
	if unread.Digest() == app.Digest() {
		t.Error("the digest is the same without the texts")
	}
	// The origin of a text does not change the version.
	inline := base.and(files{
		"metadata.toml": "version='v2'\nreadme='text of https://example.com/readme.md?token=hunter2'\n",
		"components/a.toml": strings.Replace(strings.Replace(base["components/a.toml"], "'git::", "'text of git::", 1),
			"'https://example.com", "'text of https://example.com", 1),
	})
	if mustLoad(t, inline).Digest() != app.Digest() {
		t.Error("the digest tells where a text came from")
	}
}

func TestFetchFails(t *testing.T) {
	for name, c := range map[string]struct {
		reference string
		fetch     func(string, int64) ([]byte, error)
		want      string
	}{
		"an error": {"https://example.com/x?token=hunter2", func(string, int64) ([]byte, error) {
			return nil,
				errors.New("it answers 404 Not Found")
		},
			`metadata.toml:2:8: error: "readme": https://example.com/x cannot be read: it answers 404 Not Found (put the file beside the config and write ./name, or try again)`},
		"no text": {"https://example.com/x", func(string, int64) ([]byte, error) { return []byte("\xff"), nil },
			`metadata.toml:2:8: error: "readme": https://example.com/x cannot be read: it is not UTF-8 text (put the file beside the config and write ./name, or try again)`},
		"too much": {"git::https://example.com/x?ref=v1&token=hunter2", func(string, int64) ([]byte,
			error) {
			return make([]byte, 65<<20), nil
		},
			`metadata.toml:2:8: error: "readme": git::https://example.com/x?ref=v1 cannot be read: the files of the app are larger than 67108864 bytes together (put the file beside the config and write ./name, or try again)`},
		"a password": {"https://me:hunter2@example.com/x", nil,
			`metadata.toml:2:8: error: "readme": the address contains a user or a password (remove it, or put the file beside the config and write ./name)`},
		"no address": {"https://%zz", nil,
			`metadata.toml:2:8: error: "readme": the address is no address (write it like https://example.com/file, or put the file beside the config and write ./name)`},
		"a file without anybody to read it": {"file:///etc/passwd", nil,
			`metadata.toml:2:8: error: "readme": the address is of a file outside of the config directory, which is only read where the config lies (put the file beside the config and write ./name)`},
	} {
		t.Run(name, func(t *testing.T) {
			app, found := Load(small().and(files{"metadata.toml": "version='v2'\nreadme='" + c.reference + "'"}).fs(),
				Options{Fetch: c.fetch})
			if app != nil || strings.TrimSpace(told(found, false)) != c.want {
				t.Errorf("says\n%s\nwant\n%s", found, c.want)
			}
		})
	}
}

// The candidates of any reference are in the config directory.
func TestCandidatesStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"..", ".", "a", "", "components", "x y", "\\", "b.txt"})
		reference := rapid.SampledFrom([]string{"./", "../", "", "/"}).Draw(t, "begin") +
			strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "/")
		holdsReferences(t, reference)
	})
}

func holdsReferences(t interface{ Fatalf(string, ...any) }, reference string) {
	for _, d := range []document{{file: "metadata.toml", section: "metadata"},
		{file: "components/deep/x.toml", section: "components"}, {file: "break_glass.toml", section: "break_glass"}} {
		for _, name := range candidates(d, reference) {
			if !filepath.IsLocal(filepath.FromSlash(name)) ||
				strings.Contains(name, "..") && slices.Contains(strings.Split(name, "/"), "..") {
				t.Fatalf("%q of %s may be %q", reference, d.file, name)
			}
		}
	}
}

// FuzzReference: for any value of a key that may refer to a file, candidates stay inside the
// directory and no password is printed.
func FuzzReference(f *testing.F) {
	for _, reference := range []string{"./a", "../a", "./../..", "https://u:hunter2@h/x", "git::https://h/x//y?ref=z",
		"file:///x", "./a\\..\\b", ".//a", "././a", "git::", "http://[::1]/x", "./é", "git::git::x",
		"https://h?a=%zz"} {
		f.Add(reference)
	}
	f.Fuzz(func(t *testing.T, reference string) {
		holdsReferences(t, reference)
		isReference(reference)
		if problem, _ := remoteProblem(reference, false); strings.Contains(problem, "hunter2") {
			t.Fatalf("%q", problem)
		}
		if shown := maskCredentials(reference); strings.Contains(shown, "hunter2@") ||
			strings.Contains(shown, "token=") && !strings.Contains(shown, "ref=") {
			t.Fatalf("%q is shown as %q", reference, shown)
		}
		text := "version='v2'\nreadme=" + Quote(reference) + "\n"
		app, found := Load(small().and(files{"metadata.toml": text, "README.md": "x"}).fs(), Options{})
		if (app == nil) != found.HasErrors() {
			t.Fatalf("%v with %v", app, found)
		}
	})
}

// A Dockerfile is a path in the source's directory, unless the file is beside the config.
func TestDockerfile(t *testing.T) {
	docker := func(dockerfile string) files {
		return small().and(files{
			"components/a.toml":          "type='docker_build'\nname='a'\ndockerfile='" + dockerfile + "'\n" + repoBlock,
			"components/here.Dockerfile": "FROM scratch\n",
		})
	}
	for dockerfile, want := range map[string]Docker{
		"Dockerfile":               {Dockerfile: "Dockerfile"},
		"./Dockerfile":             {Dockerfile: "Dockerfile"},
		"here.Dockerfile":          {Dockerfile: "here.Dockerfile"},
		"./here.Dockerfile":        {Contents: "FROM scratch\n"},
		"https://example.com/x":    {Dockerfile: "https://example.com/x"},
		"build/images//Dockerfile": {Dockerfile: "build/images/Dockerfile"},
	} {
		c, _ := mustLoad(t, docker(dockerfile)).Component("a")
		if c.BuildTimeout != "1h" {
			t.Errorf("%s: it may take %s", dockerfile, c.BuildTimeout)
		}
		if diff := cmp.Diff(&want, c.Docker); diff != "" {
			t.Errorf("%s:\n%s", dockerfile, diff)
		}
	}
}

// values_file.path is always a file, even without ./
func TestValuesFilePath(t *testing.T) {
	app := mustLoad(t, small().and(files{
		"components/a.toml": "type='helm_chart'\nname='a'\nchart_name='hello'\n" + repoBlock +
			"[[values_file]]\npath='values/a.yaml'\n[[values_file]]\nsource='./values/b.yaml'\n[[values_file]]\n" +
			"contents='c: 1'\n",
		"components/values/a.yaml": "a: 1", "components/values/b.yaml": "b: 1",
	}))
	c, _ := app.Component("a")
	if diff := cmp.Diff([]string{"a: 1", "b: 1", "c: 1"}, c.Helm.ValuesFiles); diff != "" {
		t.Error(diff)
	}
	if _, found := Load(small().and(files{"components/a.toml": "type='helm_chart'\nname='a'\nchart_name='hello'\n" +
		repoBlock + "[[values_file]]\npath='a.yml'\n", "components/a.yaml": ""}).fs(), Options{}); !strings.Contains(
		found.String(),
		`components/a.toml:10:6: error: there is no file a.yml: looked for components/a.yml (did you mean "a.yaml"?)`) {
		t.Error(found)
	}
}
