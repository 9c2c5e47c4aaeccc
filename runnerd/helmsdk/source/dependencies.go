package source

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// readDirectory returns the chart in a directory of the tree, with its dependencies.
// within are the directories of the charts that depend on it.
func (s *session) readDirectory(t *tree, dir string, within []string) (*loaded, error) {
	at, err := t.resolve(dir)
	if err != nil {
		return nil, fmt.Errorf("the chart's directory: %w", err)
	}
	if slices.Contains(within, at) {
		return nil, fmt.Errorf("the chart in %s needs itself: %s; take one of these dependencies out", quote(at),
			strings.Join(append(within, at), " → "))
	}
	if err := s.countChart(within); err != nil {
		return nil, err
	}
	if !t.isDir(at) {
		return nil, fmt.Errorf("%s is a file; name the directory that holds Chart.yaml", quote(at))
	}
	files, err := t.chartFiles(at)
	if err != nil {
		return nil, err
	}
	found, err := load(at, at, files)
	if err != nil {
		return nil, err
	}
	return found, s.addDependencies(found, t, append(slices.Clone(within), at))
}

func (s *session) countChart(within []string) error {
	if s.charts--; s.charts < 0 || len(within) > maxDepth {
		return fmt.Errorf("the chart needs more than %d charts, or through more than %d others; take some out",
			maxCharts, maxDepth)
	}
	return nil
}

// readArchive reads a packed chart and the packed charts in it, as far as their Chart.yaml.
func (s *session) readArchive(name string, content []byte, depth int) (*loaded, error) {
	if err := s.countChart(make([]string, depth)); err != nil {
		return nil, fmt.Errorf("%s: %w", quote(name), err)
	}
	files, err := s.unpack(name, content)
	if err != nil {
		return nil, err
	}
	found, err := load(name, "", files)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if inner := strings.TrimPrefix(file.Path, "charts/"); inner != file.Path && isPacked(inner) {
			if _, err := s.readArchive(name+"/"+file.Path, file.Content, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// isPacked reports whether a name in charts/ is that of a packed chart. Helm ignores
// names that start with '_' or '.'.
func isPacked(name string) bool {
	return strings.HasSuffix(name, ".tgz") && !strings.Contains(name, "/") && !strings.HasPrefix(name, "_") &&
		!strings.HasPrefix(name, ".")
}

// subchart is a chart in the charts/ directory of another.
type subchart struct {
	// entry is its name in charts/: "redis", "redis-1.0.0.tgz".
	entry  string
	chart  *loaded
	digest string // of an archive
	used   bool
}

// readSubcharts returns the charts in charts/. Dependencies of a directory are completed,
// since they may not be committed either.
func (s *session) readSubcharts(l *loaded, t *tree, within []string) ([]*subchart, error) {
	var found []*subchart
	below := map[string][]artifact.File{}
	for _, file := range l.files {
		inner, is := strings.CutPrefix(file.Path, "charts/")
		if !is {
			continue
		}
		if isPacked(inner) {
			got, err := s.readArchive(path.Join(l.at, file.Path), file.Content, len(within))
			if err != nil {
				return nil, err
			}
			found = append(found, &subchart{entry: inner, chart: got, digest: sha256digest.Of(file.Content)})
			continue
		}
		if entry, name, is := strings.Cut(inner, "/"); is && entry[0] != '_' && entry[0] != '.' {
			below[entry] = append(below[entry], artifact.File{Path: name, Content: file.Content})
		}
	}
	for entry, files := range below {
		made := &subchart{entry: entry}
		dir := ""
		if t != nil {
			dir = path.Join(l.dir, "charts", entry)
		}
		var err error
		if made.chart, err = load(path.Join(l.at, "charts", entry), dir, files); err != nil {
			return nil, err
		}
		found = append(found, made)
	}
	slices.SortFunc(found, func(a, b *subchart) int { return strings.Compare(a.entry, b.entry) })
	for _, p := range found {
		if p.digest != "" || t == nil {
			continue
		}
		if err := s.countChart(within); err != nil {
			return nil, err
		}
		if err := s.addDependencies(p.chart, t, append(slices.Clone(within), p.chart.at)); err != nil {
			return nil, err
		}
		l.replace(p.entry, p.chart.files)
	}
	return found, nil
}

// replace replaces a directory in charts/ by files.
func (l *loaded) replace(entry string, files []artifact.File) {
	l.remove(entry)
	for _, file := range files {
		l.files = append(l.files, artifact.File{Path: path.Join("charts", entry, file.Path), Content: file.Content})
	}
}

func (l *loaded) remove(entry string) {
	at := "charts/" + entry
	l.files = slices.DeleteFunc(l.files, func(file artifact.File) bool {
		return file.Path == at || strings.HasPrefix(file.Path, at+"/")
	})
}

// resolver is the state of complete.
type resolver struct {
	*session
	parent    *loaded
	tree      *tree
	within    []string
	subcharts []*subchart
	lock      *chart.Lock
}

// addDependencies adds a chart's dependencies to its charts/, and its lock. A chart from an
// archive (no tree) must already contain both.
func (s *session) addDependencies(l *loaded, t *tree, within []string) error {
	parts, err := s.readSubcharts(l, t, within)
	if err != nil || len(l.meta.Dependencies) == 0 {
		return err
	}
	r := &resolver{session: s, parent: l, tree: t, within: within, subcharts: parts}
	if t != nil {
		if r.lock, err = l.lock(); err != nil {
			return err
		}
	}
	chosen := make([]*chart.Dependency, len(l.meta.Dependencies))
	var problems []error
	for i, asked := range l.meta.Dependencies {
		if chosen[i], err = r.resolve(i, asked); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	r.dropStale()
	if _, locked := l.file(l.meta.lockName()); !locked {
		return l.writeLock(chosen)
	}
	return nil
}

// dropStale removes charts from charts/ that have the name of a dependency but were
// not chosen: Helm would install them as well.
func (r *resolver) dropStale() {
	for _, p := range r.subcharts {
		needed := slices.ContainsFunc(r.parent.meta.Dependencies, func(d *chart.Dependency) bool {
			return d.Name == p.chart.meta.Name
		})
		if needed && !p.used {
			r.parent.remove(p.entry)
			r.log.Warn("%s/charts/%s is left out: %s names another", r.parent.at, clean(p.entry), r.parent.meta.file)
		}
	}
}

// resolve finds one dependency, and adds it to charts/.
func (r *resolver) resolve(i int, asked *chart.Dependency) (*chart.Dependency, error) {
	repository, version := asked.Repository, asked.Version
	if r.lock != nil {
		repository, version = r.lock.Dependencies[i].Repository, r.lock.Dependencies[i].Version
	}
	if _, err := constraintOf(version); err != nil {
		return nil, fmt.Errorf(
			"%s: dependency %s asks for version %s, which is neither a version nor a constraint; write one as 1.2.3 or ~1.2",
			r.parent.meta.where(i, "version"), quote(asked.Name), quote(asked.Version))
	}
	chosen := &chart.Dependency{Name: asked.Name, Repository: repository}
	var err error
	switch found := r.bundled(asked.Name, version); {
	case strings.HasPrefix(repository, "file://") && r.tree != nil && (found == nil || r.isLocal(repository)):
		chosen.Version, err = r.addLocal(i, asked.Name, repository, version)
	case found != nil && found.used:
		chosen.Version = found.chart.meta.Version // under another alias
	case found != nil:
		found.used = true
		chosen.Version = found.chart.meta.Version
		r.recordDependency(Dependency{Repository: repository, Digest: found.digest,
			Origin: path.Join(r.parent.at, "charts", found.entry)},
			chosen)
	case r.tree == nil || repository == "":
		err = r.missingError(i, asked, version)
	default:
		chosen.Version, err = r.addFetched(i, asked.Name, repository, version)
	}
	return chosen, err
}

// bundled returns the part in charts/ with this name and version.
func (r *resolver) bundled(name, version string) *subchart {
	for _, p := range r.subcharts {
		if p.chart.meta.Name == name && satisfies(version, p.chart.meta.Version) {
			return p
		}
	}
	return nil
}

func (r *resolver) recordDependency(d Dependency, chosen *chart.Dependency) {
	d.Name, d.Version, d.Parent = chosen.Name, chosen.Version, r.parent.meta.Name
	if !slices.Contains(r.dependencies, d) {
		r.dependencies = append(r.dependencies, d)
	}
}

// missingError returns the error for a dependency that is missing from charts/.
func (r *resolver) missingError(i int, asked *chart.Dependency, version string) error {
	var there []string
	for _, p := range r.subcharts {
		there = append(there, p.chart.meta.Name+" "+p.chart.meta.Version)
	}
	where, remedy := r.parent.meta.where(i, "name"), "name its repository, or commit it below charts/"
	if r.tree == nil {
		remedy = "run `helm dependency build` and package it again"
	}
	return fmt.Errorf("%s: dependency %s %s is not in charts/ (there: %s); %s", where, quote(asked.Name), clean(version),
		listSome(there), remedy)
}

// addLocal adds a dependency from another directory of the tree.
func (r *resolver) addLocal(i int, name, repository, version string) (string, error) {
	where := r.parent.meta.where(i, "repository")
	below := strings.TrimPrefix(repository, "file://")
	if path.IsAbs(below) {
		return "", fmt.Errorf(
			"%s: dependency %s has the repository %s, which names a place on one person's machine; write file://../NAME, from "+
				"the chart's own directory", where, quote(name), quote(repository))
	}
	at := path.Join(r.parent.dir, below)
	if at == ".." || strings.HasPrefix(at, "../") {
		return "", fmt.Errorf(
			"%s: dependency %s has the repository %s, which leads out of the repository; put the chart into it", where,
			quote(name), quote(repository))
	}
	found, err := r.readDirectory(r.tree, at, r.within)
	if err != nil {
		return "", fmt.Errorf("%s: dependency %s: %w", where, quote(name), err)
	}
	if found.meta.Name != name {
		return "", fmt.Errorf("%s: dependency %s: the chart in %s is called %s; write that", where, quote(name), quote(at),
			quote(found.meta.Name))
	}
	if !satisfies(version, found.meta.Version) {
		return "", fmt.Errorf(
			"%s: dependency %s: the chart in %s has version %s, asked for is %s; change one of them, then run "+
				"`helm dependency update %s`",
			r.parent.meta.where(i, "version"), quote(name), quote(at), quote(found.meta.Version), quote(version), r.parent.at)
	}
	r.addSubchart(name, found.meta.Version, func(entry string) { r.parent.replace(entry, found.files) })
	r.recordDependency(Dependency{Repository: repository, Origin: at}, &chart.Dependency{Name: name,
		Version: found.meta.Version})
	return found.meta.Version, nil
}

// isLocal reports whether the tree has the target of a file:// reference. A chart that was
// copied together with its dependencies often has none; then the copy in its charts/ is used.
func (r *resolver) isLocal(repository string) bool {
	below := strings.TrimPrefix(repository, "file://")
	_, err := r.tree.resolve(path.Join(r.parent.dir, below))
	return err == nil && !path.IsAbs(below)
}

// addSubchart calls put with a directory name in charts/ for a chart: the chart's name, or
// with its version appended if another version has that name. The same chart under
// two aliases is added once.
func (r *resolver) addSubchart(name, version string, put func(entry string)) {
	for _, entry := range []string{name, name + "-" + version} {
		at := slices.IndexFunc(r.subcharts, func(p *subchart) bool { return p.entry == entry })
		if at < 0 {
			r.subcharts = append(r.subcharts,
				&subchart{entry: entry, used: true,
					chart: &loaded{meta: &metadata{Metadata: chart.Metadata{Name: name, Version: version}}}})
			put(entry)
			return
		}
		if p := r.subcharts[at]; p.chart.meta.Name == name && (!p.used || p.chart.meta.Version == version) {
			p.used, p.chart.meta.Version = true, version
			put(entry)
			return
		}
	}
}

// addFetched downloads a dependency from a repository.
func (r *resolver) addFetched(i int, name, repository, version string) (string, error) {
	where := r.parent.meta.where(i, "repository")
	from, err := parseRepository(repository)
	if err != nil {
		return "", fmt.Errorf("%s: dependency %s: %w", where, quote(name), err)
	}
	got, err := r.fetch(from, name, version)
	if err != nil {
		return "", fmt.Errorf("%s: %w", where, err)
	}
	found, err := r.readArchive(got.origin, got.content, len(r.within))
	if err != nil {
		return "", fmt.Errorf("%s: dependency %s: %w", where, quote(name), err)
	}
	if found.meta.Name != name || !satisfies(version, found.meta.Version) {
		return "", fmt.Errorf("%s: dependency %s %s: what comes from %s is chart %s %s; report it to its publisher", where,
			quote(name), clean(version),
			got.origin, quote(found.meta.Name), quote(found.meta.Version))
	}
	entry := name + "-" + strings.ReplaceAll(found.meta.Version, "/", "_") + ".tgz"
	r.parent.remove(entry)
	r.parent.files = append(r.parent.files, artifact.File{Path: "charts/" + entry, Content: got.content})
	digest := sha256digest.Of(got.content)
	r.subcharts = append(r.subcharts, &subchart{entry: entry, chart: found, digest: digest, used: true})
	chosen := &chart.Dependency{Name: name, Version: found.meta.Version}
	r.recordDependency(Dependency{Repository: from.String(), Digest: digest, Origin: got.origin}, chosen)
	return found.meta.Version, nil
}
