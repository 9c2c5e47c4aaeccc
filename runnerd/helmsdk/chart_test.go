package helmsdk

import (
	"strings"
	"testing"
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
