package helm

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// What a chart may hold, its archives unpacked.
const (
	maxChart      = 64 << 20
	maxChartFile  = 8 << 20
	maxChartFiles = 10_000
	maxNested     = 8
)

// chartName is what a chart can be called: the name becomes part of paths.
var chartName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Chart is a chart with its dependencies. It is never changed, and is for any number of goroutines.
type Chart struct {
	files []*loader.BufferedFile
	meta  chart.Metadata
	crds  []File
}

// LoadChart reads a chart from its files, Chart.yaml at the root. Charts are other people's work: sizes, depths and what YAML grows to are
// bounded, links and library charts refused.
func LoadChart(files []artifact.File) (*Chart, error) {
	limits := artifact.Limits{Files: maxChartFiles, FileBytes: maxChartFile, TotalBytes: maxChart}
	if err := artifact.CheckTree(files, limits); err != nil {
		return nil, fmt.Errorf("load the chart: %w", err)
	}
	u := unpacking{}
	for _, f := range files {
		if f.Link != "" {
			return nil, fmt.Errorf("load the chart: %s is a symbolic link; replace it by the file", f.Path)
		}
		if err := u.add(f.Path, f.Content, 0); err != nil {
			return nil, fmt.Errorf("load the chart: %w", err)
		}
	}
	made := &Chart{files: u.files}
	loaded, err := made.load()
	if err != nil {
		return nil, err
	}
	if err := checkNames(loaded); err != nil {
		return nil, err
	}
	made.meta = *loaded.Metadata
	if strings.EqualFold(made.meta.Type, "library") {
		return nil, fmt.Errorf("the chart %s is a library chart, which has nothing to install; use it as a dependency of another chart", made.meta.Name)
	}
	for _, crd := range loaded.CRDObjects() {
		made.crds = append(made.crds, File{Path: crd.Filename, Content: crd.File.Data})
	}
	return made, nil
}

// Info gives name, version and version of the app, as Chart.yaml says.
func (c *Chart) Info() ChartInfo {
	return ChartInfo{Name: c.meta.Name, Version: c.meta.Version, AppVersion: c.meta.AppVersion}
}

// Deprecated says that the chart's authors advise against it.
func (c *Chart) Deprecated() bool { return c.meta.Deprecated }

// KubeVersion is the constraint on the version of Kubernetes, ">=1.25.0-0", or empty.
func (c *Chart) KubeVersion() string { return c.meta.KubeVersion }

// CRDs are the files of the folders crds/ of the chart and its subcharts, also of those that values switch off.
func (c *Chart) CRDs() []File { return slices.Clone(c.crds) }

// load makes the SDK's form anew: what renders a chart changes it.
func (c *Chart) load() (*chart.Chart, error) {
	copies := make([]*loader.BufferedFile, len(c.files))
	for i, f := range c.files {
		copies[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	loaded, err := loader.LoadFiles(copies)
	if err != nil {
		return nil, fmt.Errorf("load the chart: %s; correct it and build again", bounded(err))
	}
	return loaded, nil
}

// checkNames refuses names, also of subcharts, that would not be one part of a path.
func checkNames(c *chart.Chart) error {
	if !chartName.MatchString(c.Name()) {
		return fmt.Errorf("a chart is called %.80q; let the name in Chart.yaml consist of letters, digits, dashes, dots and underscores", c.Name())
	}
	for _, d := range c.Dependencies() {
		if err := checkNames(d); err != nil {
			return err
		}
	}
	return nil
}

// unpacking collects the files of a chart, those of archives below charts/ too, under one sum of limits. The SDK would unpack archives within
// archives without end.
type unpacking struct {
	files []*loader.BufferedFile
	bytes int
}

func (u *unpacking) add(name string, content []byte, nested int) error {
	if inCharts(name) && path.Ext(name) == ".tgz" {
		return u.unpack(name, content, nested+1)
	}
	if len(u.files) >= maxChartFiles {
		return fmt.Errorf("%w: the chart has more than %d files with its dependencies", artifact.ErrTooLarge, maxChartFiles)
	}
	if u.bytes += len(content); u.bytes > maxChart || len(content) > maxChartFile {
		return fmt.Errorf("%w: %s: a file of a chart has at most %d MiB, all of them %d MiB", artifact.ErrTooLarge, name, maxChartFile>>20, maxChart>>20)
	}
	if isParsed(path.Base(name)) {
		if err := guard(name, content); err != nil {
			return err
		}
	}
	u.files = append(u.files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))})
	return nil
}

// unpack puts the files of an archive where a folder of that dependency would be.
func (u *unpacking) unpack(name string, content []byte, nested int) error {
	if nested > maxNested {
		return fmt.Errorf("%w: %s: dependencies are packed into one another more than %d times", artifact.ErrTooLarge, name, maxNested)
	}
	files, err := loader.LoadArchiveFiles(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("unpack %s: %s; package that dependency anew", name, bounded(err))
	}
	// The ending keeps the folder apart from one that is called like the archive without its own.
	dir := name + ".unpacked"
	for _, f := range files {
		if err := u.add(dir+"/"+f.Name, f.Data, nested); err != nil {
			return err
		}
	}
	return nil
}

// inCharts says whether a file lies directly in a folder charts/ in which Helm looks for dependencies.
func inCharts(name string) bool {
	parts := strings.Split(path.Dir(name), "/")
	for i, part := range parts {
		if i%2 == 0 && part != "charts" {
			return false
		}
	}
	return len(parts)%2 == 1 && !strings.ContainsAny(path.Base(name)[:1], "_.")
}

// isParsed says whether Helm reads a file as YAML when it loads a chart.
func isParsed(base string) bool {
	return slices.Contains([]string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"}, base)
}

// bounded gives the text of an error of the SDK on one line and not too long: it may quote whatever other people wrote.
func bounded(err error) string { return boundedText(err.Error(), 2000) }

func boundedText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return '\uFFFD'
		}
		return r
	}, strings.TrimSpace(text))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// errTampered is wrapped when what the SDK made of the planned bytes is not what was planned.
var errTampered = errors.New("what would be applied is not what was planned")
