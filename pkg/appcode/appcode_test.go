package appcode_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
)

const (
	repository = "acme/infra"
	branch     = "main"
)

// app returns an app with a module in each of these directories, by component, all of one repository.
func app(t testing.TB, directories map[string]string) *appconfig.App {
	t.Helper()
	const sandbox = "terraform_version = \"1.11.4\"\n[connected_repo]\nrepo = \"acme/other\"\ndirectory = \".\"\n" +
		"branch = \"main\"\n"
	files := fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v1\"\n")}, "sandbox.toml": {Data: []byte(sandbox)},
		"runner.toml": {Data: []byte("runner_type = \"local\"\n")},
	}
	for component, directory := range directories {
		files["components/"+component+".toml"] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"name = %q\ntype = \"terraform_module\"\nterraform_version = \"1.11.4\"\n"+
				"[connected_repo]\nrepo = %q\ndirectory = %q\nbranch = %q\n", component, repository, directory, branch)}
	}
	config, found := appconfig.Load(files, appconfig.Options{})
	if config == nil {
		t.Fatal(found)
	}
	return config
}

// side returns an app with the files of its repository.
func side(t testing.TB, config *appconfig.App, files map[string]string) appcode.Side {
	t.Helper()
	b := gittree.NewBuilder(nil)
	for name, content := range files {
		if err := b.Add(name, 0o644, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := b.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return appcode.Side{App: config, Tree: tree, Repository: repository, Branch: branch}
}

// TestCompare checks which components are listed, with which files and problems.
func TestCompare(t *testing.T) {
	config := app(t, map[string]string{"web": "web", "db": "db", "gone": "gone"})
	before := map[string]string{"web/main.tf": "", "web/sub/a.txt": "1", "webs/main.tf": "1", "db/main.tf": "",
		"gone/main.tf": ""}
	after := map[string]string{"web/main.tf": "", "web/sub/a.txt": "2", "webs/main.tf": "2", "db/main.tf": "",
		"README": "new"}
	code, err := appcode.Compare(side(t, config, before), side(t, config, after))
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(code)); !slices.Equal(got, []string{"gone", "web"}) {
		t.Fatalf("the code of %v differs", got)
	}
	if web := code["web"]; len(web.Files) != 1 || web.Files[0].Path != "web/sub/a.txt" || web.Before+web.After != "" {
		t.Errorf("web: %+v", web)
	}
	if gone := code["gone"]; gone.Before != "" || !strings.Contains(gone.After, "gone") || len(gone.Files) != 1 {
		t.Errorf("gone: %+v", gone)
	}

	other := side(t, config, after)
	other.Branch = "next"
	if code, err := appcode.Compare(side(t, config, before), other); err != nil || len(code) > 0 {
		t.Errorf("a tree of another branch has no code of these components: %v, %v", code, err)
	}
}

// TestManyFiles checks that no files are listed if too many changed, and that the component still is.
func TestManyFiles(t *testing.T) {
	config, after := app(t, map[string]string{"web": "web"}), map[string]string{"web/main.tf": "# after"}
	for i := range 10_001 {
		after[fmt.Sprintf("data/%d", i)] = ""
	}
	code, err := appcode.Compare(side(t, config, map[string]string{"web/main.tf": "# before"}), side(t, config, after))
	const want = "more than 10000 files of the repository changed"
	if err != nil || len(code) != 1 || len(code["web"].Files) > 0 || code["web"].NotListed != want {
		t.Errorf("%v, %v", code, err)
	}
}

// TestComponentsDifferWithTheirFiles draws trees, and checks that a component is listed with exactly the files of its
// directory that differ.
func TestComponentsDifferWithTheirFiles(t *testing.T) {
	directories := map[string]string{"a": "a", "ab": "ab", "deep": "a/b/c"}
	drawn := []string{"x", "a/x", "a/b/x", "a/b/c/x", "ab/x", "a/b/cd/x"}
	config := app(t, directories)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) map[string]string {
			files := map[string]string{"a/main.tf": "", "ab/main.tf": "", "a/b/c/main.tf": ""}
			maps.Copy(files, rapid.MapOfN(rapid.SampledFrom(drawn), rapid.SampledFrom([]string{"1", "2"}), 0, 4).Draw(rt, label))
			return files
		}
		before, after := draw("before"), draw("after")
		code, err := appcode.Compare(side(t, config, before), side(t, config, after))
		if err != nil {
			rt.Fatal(err)
		}
		for name, directory := range directories {
			var want []string
			for _, file := range drawn {
				old, had := before[file]
				now, has := after[file]
				if strings.HasPrefix(file, directory+"/") && (had != has || old != now) {
					want = append(want, file)
				}
			}
			slices.Sort(want)
			var got []string
			for _, file := range code[name].Files {
				got = append(got, file.Path)
			}
			if _, listed := code[name]; listed != (len(want) > 0) || !slices.Equal(got, want) {
				rt.Errorf("%s has the changed files %v, want %v", name, got, want)
			}
		}
	})
}
