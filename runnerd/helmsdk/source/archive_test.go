package source

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestArchivesThatAreRefused(t *testing.T) {
	deep := packedChart(t, "x", "1.0.0")
	for range maxDepth + 1 {
		deep = tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "x/charts/x-1.0.0.tgz", string(deep))
	}
	wide := []string{"x/Chart.yaml", yamlOf("x", "1.0.0")}
	for i := range maxCharts {
		wide = append(wide, fmt.Sprintf("x/charts/y%d.tgz", i), string(packedChart(t, "z", "1.0.0")))
	}
	many := []string{"x/Chart.yaml", yamlOf("x", "1.0.0")}
	for i := range maxFiles {
		many = append(many, fmt.Sprintf("x/f%d", i), "")
	}
	zeros := strings.Repeat("\x00", maxFile)
	large := []string{"x/Chart.yaml", yamlOf("x", "1.0.0")}
	for i := range maxUnpacked/maxFile + 1 {
		large = append(large, fmt.Sprintf("x/f%d", i), zeros)
	}
	// Ten nested archives, each within its bound.
	part := string(tgz(t, "y/Chart.yaml", yamlOf("z", "1.0.0"), "y/a", zeros, "y/b", zeros, "y/c", zeros))
	inner := []string{"x/Chart.yaml", yamlOf("x", "1.0.0")}
	for i := range 10 {
		inner = append(inner, fmt.Sprintf("x/charts/y%d.tgz", i), part)
	}
	var endless bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&endless, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		_, _ = compressed.Write(make([]byte, 1<<20))
	}
	_ = compressed.Close()
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"text":     {[]byte("apiVersion: v2"), "is no packed chart"},
		"nothing":  {nil, "is no packed chart"},
		"no files": {tgz(t), "holds no files"},
		"no chart": {tgz(t, "x/values.yaml", "a: 1"), "no Chart.yaml"},
		"at the root": {tgz(t, "Chart.yaml", yamlOf("x", "1.0.0")),
			`"Chart.yaml" is no path inside the chart's directory`},
		"way out":          {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "x/../../etc/passwd", ""), "is no path inside"},
		"way out at first": {tgz(t, "../x/Chart.yaml", yamlOf("x", "1.0.0")), "is no path inside"},
		"absolute":         {tgz(t, "/x/Chart.yaml", yamlOf("x", "1.0.0")), "is no path inside"},
		"backslashes":      {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), `x/..\..\y`, ""), "is no path inside"},
		"a link": {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "x/values.yaml", "-> /etc/passwd"),
			`"x/values.yaml" is a link`},
		"twice":           {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "y/Chart.yaml", yamlOf("z", "1.0.0")), "twice"},
		"below a file":    {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "x/Chart.yaml/y", ""), "not a directory"},
		"cut":             {packedChart(t, "x", "1.0.0")[:60], "damaged"},
		"deep":            {deep, "through more than 10 others"},
		"wide":            {tgz(t, wide...), "more than 200 charts"},
		"many files":      {tgz(t, many...), "more than 10000 files"},
		"a large file":    {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "x/f", zeros+"x"), "more than 5242880 bytes"},
		"a bomb":          {tgz(t, large...), "unpack to more than"},
		"bombs in it":     {tgz(t, inner...), "unpack to more than"},
		"endless nothing": {endless.Bytes(), "no files"},
		"a hostile inner": {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "x/charts/y.tgz", string(tgz(t, "y/../../z", ""))),
			`"a.tgz/charts/y.tgz"`},
		"control": {tgz(t, "x/Chart.yaml", yamlOf("x", "1.0.0"), "x/\x1b[31m\n/../y", ""), `\x1b`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Options{}).FromArchive(t.Context(), "a.tgz", test.content)
			refused(t, err, "a.tgz", test.want)
		})
	}
}

// TestNoArchiveBreaksIt: any bytes result in a chart or an error.
func TestNoArchiveBreaksIt(t *testing.T) {
	valid := packedChart(t, "x", "1.0.0", needs("y 1 https://x"))
	rapid.Check(t, func(r *rapid.T) {
		content := bytes.Clone(valid)
		for range rapid.IntRange(0, 4).Draw(r, "changes") {
			content[rapid.IntRange(0, len(content)-1).Draw(r, "at")] = rapid.Byte().Draw(r, "byte")
		}
		content = content[:rapid.IntRange(0, len(content)).Draw(r, "length")]
		got, err := New(Options{}).FromArchive(t.Context(), "x.tgz", content)
		if (got == nil) == (err == nil) {
			r.Fatalf("got %v, %v", got, err)
		}
	})
}
