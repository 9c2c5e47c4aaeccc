package helmsdk

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// Bounds of a chart with its archives unpacked.
const (
	maxChart      = 64 << 20
	maxChartFile  = 8 << 20
	maxChartFiles = 10_000
	maxNested     = 8
)

// chartName is the form of a chart's name, which becomes part of paths.
var chartName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Chart is a chart with its dependencies. It is immutable, and safe for concurrent use.
type Chart struct {
	files []*loader.BufferedFile
	meta  chart.Metadata
	crds  []File
}

// LoadChart loads a chart from its files, with Chart.yaml at the root. Charts are
// untrusted: sizes, depths and the expanded size of YAML are bounded, and links and
// library charts are refused.
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
		return nil, fmt.Errorf(
			"the chart %s is a library chart, which has nothing to install; use it as a dependency of another chart",
			made.meta.Name)
	}
	for _, crd := range loaded.CRDObjects() {
		made.crds = append(made.crds, File{Path: crd.Filename, Content: crd.File.Data})
	}
	return made, nil
}

// Info returns name, version and app version from Chart.yaml.
func (c *Chart) Info() ChartInfo {
	return ChartInfo{Name: c.meta.Name, Version: c.meta.Version, AppVersion: c.meta.AppVersion}
}

// Deprecated reports that the chart's authors advise against it.
func (c *Chart) Deprecated() bool { return c.meta.Deprecated }

// KubeVersion returns the constraint on the version of Kubernetes, ">=1.25.0-0", or "".
func (c *Chart) KubeVersion() string { return c.meta.KubeVersion }

// CRDs returns the files of the crds/ directories of the chart and its subcharts,
// including those that values switch off.
func (c *Chart) CRDs() []File { return slices.Clone(c.crds) }

// load returns a new chart of the SDK's type, since rendering modifies it.
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

// checkNames rejects names, including those of subcharts, that are not a single path element.
func checkNames(c *chart.Chart) error {
	if !chartName.MatchString(c.Name()) {
		return fmt.Errorf(
			"a chart is called %.80q; let the name in Chart.yaml consist of letters, digits, dashes, dots and underscores",
			c.Name())
	}
	for _, d := range c.Dependencies() {
		if err := checkNames(d); err != nil {
			return err
		}
	}
	return nil
}

// unpacking collects the files of a chart, including those of archives below charts/,
// under common limits. The SDK would unpack nested archives without bounds.
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
		return fmt.Errorf("%w: %s: a file of a chart has at most %d MiB, all of them %d MiB", artifact.ErrTooLarge, name,
			maxChartFile>>20, maxChart>>20)
	}
	if isParsed(path.Base(name)) {
		if err := guard(name, content); err != nil {
			return err
		}
	}
	u.files = append(u.files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))})
	return nil
}

// unpack adds the files of an archive in the place of a directory of that dependency.
func (u *unpacking) unpack(name string, content []byte, nested int) error {
	if nested > maxNested {
		return fmt.Errorf("%w: %s: dependencies are packed into one another more than %d times", artifact.ErrTooLarge,
			name, maxNested)
	}
	files, err := loader.LoadArchiveFiles(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("unpack %s: %s; package that dependency again", name, bounded(err))
	}
	// The suffix distinguishes the directory from one named like the archive without its extension.
	dir := name + ".unpacked"
	for _, f := range files {
		if err := u.add(dir+"/"+f.Name, f.Data, nested); err != nil {
			return err
		}
	}
	return nil
}

// inCharts reports whether a file is directly in a charts/ directory in which Helm
// looks for dependencies.
func inCharts(name string) bool {
	parts := strings.Split(path.Dir(name), "/")
	for i, part := range parts {
		if i%2 == 0 && part != "charts" {
			return false
		}
	}
	return len(parts)%2 == 1 && !strings.ContainsAny(path.Base(name)[:1], "_.")
}

// isParsed reports whether Helm parses a file as YAML when it loads a chart.
func isParsed(base string) bool {
	return slices.Contains([]string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"},
		base)
}

// bounded returns the text of an SDK error on one line of bounded length: it may
// quote untrusted text.
func bounded(err error) string { return boundedText(err.Error(), 2000) }

func boundedText(text string, most int) string {
	return truncate.Text(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' ||
			r >= '\u2066' && r <= '\u2069':
			return '\uFFFD'
		}
		return r
	}, strings.TrimSpace(text)), most)
}

// errTampered reports that the SDK's rendering of the planned bytes differs from the plan.
var errTampered = errors.New("what would be applied is not what was planned")
