package helmsdk

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

func TestChart(t *testing.T) {
	c := web().with(tree{"crds/a.yaml": crd("as"), "Chart.yaml": web()["Chart.yaml"] +
		"deprecated: true\nkubeVersion: '>=1.25.0-0'\n"}).load(t)
	if got := c.Info(); got != (ChartInfo{Name: "web", Version: "1.2.3", AppVersion: "7"}) {
		t.Errorf("got %+v", got)
	}
	if !c.Deprecated() || c.KubeVersion() != ">=1.25.0-0" {
		t.Error("what Chart.yaml says is not told")
	}
	if crds := c.CRDs(); len(crds) != 2 || crds[0].Path != "web/crds/a.yaml" ||
		crds[1].Path != "web/charts/queue/crds/queues.yaml" {
		t.Errorf("CRDs: %+v", crds)
	}
}

func TestChartRefused(t *testing.T) {
	nested := tgz(t, "a", tree{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n"})
	for range 12 {
		nested = tgz(t, "a", tree{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "charts/a.tgz": nested})
	}
	big := tgz(t, "big", tree{"Chart.yaml": "apiVersion: v2\nname: big\nversion: 1.0.0\n", "a": strings.Repeat("a", 4<<20),
		"b": strings.Repeat("a", 4<<20), "c": strings.Repeat("a", 4<<20)})
	bombs := tree{}
	for _, name := range strings.Split("a b c d e f g h i j", " ") {
		bombs["charts/"+name+".tgz"] = big
	}
	for name, test := range map[string]struct {
		files tree
		want  string
	}{
		"no Chart.yaml": {tree{"Chart.yaml": ""}, "Chart.yaml file is missing"},
		"library": {tree{"Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n"},
			"library chart"},
		"no version":       {tree{"Chart.yaml": "apiVersion: v2\nname: lib\n"}, "version is required"},
		"name with path":   {tree{"Chart.yaml": "apiVersion: v2\nname: ../../x\nversion: 1.0.0\n"}, "name"},
		"name of dots":     {tree{"Chart.yaml": "apiVersion: v2\nname: ..\nversion: 1.0.0\n"}, "name"},
		"subchart's name":  {tree{"charts/cache/Chart.yaml": "apiVersion: v2\nname: ..\nversion: 1.0.0\n"}, "name"},
		"climbing":         {tree{"../x": "x"}, "unsafe tree"},
		"archive climbs":   {tree{"charts/x.tgz": tgz(t, "x", tree{"../../../x": "x"})}, "parent directory"},
		"no archive":       {tree{"charts/x.tgz": "x"}, "charts/x.tgz"},
		"nested archives":  {tree{"charts/a.tgz": nested}, "more than 8 times"},
		"many archives":    {bombs, "64 MiB"},
		"values not YAML":  {tree{"values.yaml": "a: [\n"}, "values.yaml"},
		"values with bomb": {tree{"values.yaml": bomb()}, "aliases"},
		"long string bomb": {tree{"values.yaml": "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" +
			strings.Repeat("*a,", 1000) + "*a]\n"}, "aliases"},
		"deep": {tree{"Chart.yaml": web()["Chart.yaml"] + "annotations: " + strings.Repeat("[", 500) +
			strings.Repeat("]", 500)}, "deeper"},
		"bomb in a archive": {
			tree{"charts/x.tgz": tgz(t, "x", tree{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n",
				"values.yaml": bomb()})}, "aliases"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadChart(web().with(test.files).files())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
	if _, err := LoadChart(
		[]artifact.File{{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: x\nversion: 1.0.0\n")},
			{Path: "values.yaml", Link: "Chart.yaml"}}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link: %v", err)
	}
}

func bomb() string {
	text := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		last, next := string(rune('a'+i)), string(rune('b'+i))
		text += next + ": &" + next + " [" + strings.Repeat("*"+last+",", 8) + "*" + last + "]\n"
	}
	return text
}

// A dependency packed as an archive behaves like one in a directory.
func TestArchiveAsFolder(t *testing.T) {
	folder := web()
	archive := web().with(tree{"charts/cache/Chart.yaml": "", "charts/cache/values.yaml": "",
		"charts/cache/templates/cache.yaml": "", "charts/cache/templates/NOTES.txt": ""}).with(tree{
		"charts/cache-0.1.0.tgz": tgz(t, "cache", tree{
			"Chart.yaml": folder["charts/cache/Chart.yaml"], "values.yaml": folder["charts/cache/values.yaml"],
			"templates/cache.yaml": folder["charts/cache/templates/cache.yaml"], "templates/NOTES.txt": "x",
		}),
	})
	one, two := offline(t, folder.load(t), nil), offline(t, archive.load(t), nil)
	if find(one, "web/charts/cache/templates/cache.yaml") == "" ||
		find(one, "web/charts/cache/templates/cache.yaml") != find(two, "web/charts/cache/templates/cache.yaml") {
		t.Errorf("%q and %q", find(one, "web/charts/cache/templates/cache.yaml"),
			find(two, "web/charts/cache/templates/cache.yaml"))
	}
}

func find(r *Rendered, path string) string {
	for _, f := range r.Templates {
		if f.Path == path {
			return string(f.Content)
		}
	}
	return ""
}
