package source

import (
	"errors"
	"fmt"
	"path"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// The metadata files of a chart; the second pair is for charts of apiVersion v1.
const (
	chartFile        = "Chart.yaml"
	lockFile         = "Chart.lock"
	requirementsFile = "requirements.yaml"
	requirementsLock = "requirements.lock"
)

// metadata is a chart's metadata.
type metadata struct {
	chart.Metadata
	// file is the one that lists the dependencies, with its path: "deploy/chart/Chart.yaml".
	file string
	// lines are the positions of the dependencies in it.
	lines []dependencyLine
	// legacy reports that requirements.yaml lists the dependencies.
	legacy bool
}

// dependencyLine is the position of a dependency and its keys.
type dependencyLine struct {
	line int
	keys map[string]int
}

// where returns file:line of a dependency's key, or of the dependency.
func (m *metadata) where(i int, key string) string {
	if i >= len(m.lines) {
		return m.file
	}
	line := m.lines[i].line
	if at, there := m.lines[i].keys[key]; there {
		line = at
	}
	return fmt.Sprintf("%s:%d", m.file, line)
}

// loaded is a chart with its own files.
type loaded struct {
	// at is its path in errors; dir is its directory in the tree, if it has one.
	at, dir string
	meta    *metadata
	files   []artifact.File
}

func (l *loaded) file(name string) ([]byte, bool) {
	for _, file := range l.files {
		if file.Path == name {
			return file.Content, true
		}
	}
	return nil, false
}

// checkUsable returns an error for a chart that can only be part of others.
func (l *loaded) checkUsable() error {
	if l.meta.Type == "library" {
		return fmt.Errorf("%s: chart %s is a library, which holds nothing to install; name the chart that uses it",
			path.Join(l.at, chartFile), quote(l.meta.Name))
	}
	return nil
}

// load reads a chart's metadata.
func load(at, dir string, files []artifact.File) (*loaded, error) {
	l := &loaded{at: at, dir: dir, files: files, meta: &metadata{file: path.Join(at, chartFile)}}
	content, found := l.file(chartFile)
	if !found {
		return nil, fmt.Errorf("%s has no Chart.yaml, so it is no chart; name the directory that holds it%s", quote(at),
			charts(files))
	}
	if err := decode(l.meta.file, content, &l.meta.Metadata); err != nil {
		return nil, err
	}
	if l.meta.APIVersion == "" {
		l.meta.APIVersion = chart.APIVersionV1 // as Helm reads it
	}
	if requirements, found := l.file(requirementsFile); found {
		l.meta.file, l.meta.legacy, content = path.Join(at, requirementsFile), true, requirements
		if err := decode(l.meta.file, content, &l.meta.Metadata); err != nil {
			return nil, err
		}
	}
	l.meta.lines = dependencyLines(content)
	return l, l.check()
}

// charts lists the charts below a directory, for the error about a wrong directory.
func charts(files []artifact.File) string {
	var dirs []string
	for _, file := range files {
		if path.Base(file.Path) == chartFile {
			dirs = append(dirs, path.Dir(file.Path))
		}
	}
	if len(dirs) == 0 {
		return ""
	}
	return " (below it: " + listSome(dirs) + ")"
}

// check does Helm's checks, with errors that name the file.
func (l *loaded) check() error {
	file := path.Join(l.at, chartFile)
	switch {
	case l.meta.Name == "":
		return fmt.Errorf("%s: the chart has no name; write name: and what it is called", file)
	case !chartName.MatchString(l.meta.Name):
		return fmt.Errorf(
			"%s: the chart's name %s has other characters than letters, digits, '.', '_' and '-'; write one without them", file,
			quote(l.meta.Name))
	case l.meta.Version == "":
		return fmt.Errorf("%s: the chart has no version; write version: 0.1.0", file)
	}
	if err := l.meta.Validate(); err != nil {
		text := strings.TrimPrefix(err.Error(), "validation: ")
		return fmt.Errorf("%s: %s; see helm's documentation of Chart.yaml", file,
			clean(strings.ReplaceAll(text, "chart.metadata.", "")))
	}
	for i, dependency := range l.meta.Dependencies {
		if !chartName.MatchString(dependency.Name) {
			return fmt.Errorf("%s: %s is no name of a chart; write letters, digits, '.', '_' and '-'", l.meta.where(i, "name"),
				quote(dependency.Name))
		}
	}
	return nil
}

// decode parses YAML as Helm does, and returns errors with the line.
func decode(file string, content []byte, into any) error {
	if len(content) > maxMetadata {
		return fmt.Errorf("%s has %d bytes, at most %d are read; make it smaller", file, len(content), maxMetadata)
	}
	var node yamlv3.Node
	if err := yamlv3.Unmarshal(content, &node); err != nil {
		return yamlError(file, err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		cause := err
		for errors.Unwrap(cause) != nil {
			cause = errors.Unwrap(cause)
		}
		return fmt.Errorf("%s: %s; see helm's documentation of the file", file,
			clean(strings.TrimPrefix(cause.Error(), "json: ")))
	}
	return nil
}

// yamlError formats an error of the parser as file:line: text.
func yamlError(file string, err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "line ")
	if line, words, found := strings.Cut(text, ": "); found && strings.Trim(line, "0123456789") == "" {
		return fmt.Errorf("%s:%s: %s; fix the YAML", file, line, clean(words))
	}
	return fmt.Errorf("%s: %s; fix the YAML", file, clean(text))
}

// dependencyLines returns the positions of the dependencies.
func dependencyLines(content []byte) []dependencyLine {
	var node yamlv3.Node
	if yamlv3.Unmarshal(content, &node) != nil || len(node.Content) == 0 || node.Content[0].Kind != yamlv3.MappingNode {
		return nil
	}
	var lines []dependencyLine
	root := node.Content[0].Content
	for i := 0; i+1 < len(root); i += 2 {
		if root[i].Value != "dependencies" {
			continue
		}
		for _, item := range root[i+1].Content {
			at := dependencyLine{line: item.Line, keys: map[string]int{}}
			for k := 0; item.Kind == yamlv3.MappingNode && k+1 < len(item.Content); k += 2 {
				at.keys[item.Content[k].Value] = item.Content[k].Line
			}
			lines = append(lines, at)
		}
	}
	return lines
}
