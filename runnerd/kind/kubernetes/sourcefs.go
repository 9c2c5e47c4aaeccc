package kubernetes

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// sourceFS is an in-memory file system with only the files of a source. It checks each
// kustomization when it is read, because kustomize itself would fetch URLs, and run
// git for a remote base.
type sourceFS struct {
	filesys.FileSystem
	// rejected is the first reason why a kustomization must not be used.
	rejected error
}

// Limits for the links of a source: their number, how deeply they are nested, and the files
// and bytes that they add.
const (
	maxLinks  = 1000
	maxDepth  = 8
	maxLinked = 20_000
	maxBytes  = 256 << 20
)

// newSourceFS copies the files of a source into memory, and replaces links by their targets.
func newSourceFS(files []artifact.File) (*sourceFS, error) {
	made := &sourceFS{FileSystem: filesys.MakeFsInMemory()}
	tree := &linkResolver{known: map[string][]byte{}}
	var links []artifact.File
	for _, file := range files {
		if file.Link != "" {
			links = append(links, file)
		} else {
			tree.known[file.Path] = file.Content
		}
	}
	if len(links) > maxLinks {
		return nil, fmt.Errorf("the source has %d links, more than %d are not followed; use fewer links",
			len(links), maxLinks)
	}
	// A link may lead to another link, and a link to a directory includes files that are added
	// by other links later.
	for range maxDepth {
		before := tree.files
		for _, link := range links {
			tree.follow(link)
			if tree.files > maxLinked || tree.bytes > maxBytes {
				return nil, fmt.Errorf("the links of the source stand for more than %d files or %d MiB; use fewer links", maxLinked,
					maxBytes>>20)
			}
		}
		if tree.files == before {
			break
		}
	}
	for name, content := range tree.known {
		if err := made.WriteFile(path.Join(sourceDir, name), content); err != nil {
			return nil, fmt.Errorf("read the source: %w", err)
		}
	}
	return made, nil
}

// linkResolver is a tree whose links are being resolved, and the number of files and
// bytes that this has added.
type linkResolver struct {
	known        map[string][]byte
	files, bytes int
}

// follow copies the current target of a link to its place.
func (l *linkResolver) follow(link artifact.File) {
	target := path.Join(path.Dir(link.Path), link.Link)
	found := map[string][]byte{}
	if content, ok := l.known[target]; ok {
		found[link.Path] = content
	}
	for name, content := range l.known {
		if rest, ok := strings.CutPrefix(name, target+"/"); ok && len(found) <= maxLinked {
			found[path.Join(link.Path, rest)] = content
		}
	}
	for name, content := range found {
		if _, there := l.known[name]; !there {
			l.known[name] = content
			l.files++
			l.bytes += len(content)
		}
	}
}

// ReadFile reads a file, after a check if it is a kustomization.
func (c *sourceFS) ReadFile(name string) ([]byte, error) {
	text, err := c.FileSystem.ReadFile(name)
	if err != nil {
		return nil, err
	}
	switch path.Base(name) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		if err := c.checkKustomization(name, text); err != nil {
			if c.rejected == nil {
				c.rejected = fmt.Errorf("%s: %w", diff.EscapeText(strings.TrimPrefix(name, sourceDir+"/")), err)
			}
			return nil, err
		}
	}
	return text, nil
}

// checkKustomization returns an error for a kustomization that refers to anything outside of the source,
// or that would run a program.
func (c *sourceFS) checkKustomization(name string, text []byte) error {
	var whole map[string]any
	if err := yaml.UnmarshalStrict(text, &whole); err != nil {
		return fmt.Errorf("%s; correct the YAML", kustomizeError(err))
	}
	for key, value := range whole {
		var err error
		switch {
		case isOneOf(key, "helmCharts", "helmChartInflationGenerator", "helmGlobals"):
			err = fmt.Errorf("%s needs the program helm, which is not run here; make the chart a component of type helm_chart",
				key)
		case isOneOf(key, "resources", "bases", "components", "crds", "configurations", "openapi"):
			err = eachText(value, checkLocalPath)
		case isOneOf(key, "patchesStrategicMerge"):
			err = eachText(value, checkLocal)
		case isOneOf(key, "patches", "patchesJson6902", "replacements", "configMapGenerator", "secretGenerator"):
			err = c.checkReads(path.Dir(name), value)
		case isOneOf(key, "generators", "transformers", "validators"):
			err = eachText(value, func(entry string) error { return c.checkPlugin(path.Dir(name), entry) })
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// isOneOf compares without case, as kustomize does for keys.
func isOneOf(key string, names ...string) bool {
	for _, n := range names {
		if strings.EqualFold(key, n) {
			return true
		}
	}
	return false
}

// valuesAt returns the values at the given keys at any depth. It skips texts that are
// direct elements of a list.
func valuesAt(value any, keys ...string) []any {
	var out []any
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if isOneOf(key, keys...) {
				out = append(out, v)
			} else {
				out = append(out, valuesAt(v, keys...)...)
			}
		}
	case []any:
		for _, v := range value {
			if _, is := v.(string); !is {
				out = append(out, valuesAt(v, keys...)...)
			}
		}
	}
	return out
}

// eachText calls check with all texts in a value.
func eachText(value any, check func(string) error) error {
	switch value := value.(type) {
	case string:
		return check(value)
	case []any:
		for _, v := range value {
			if err := eachText(v, check); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, v := range value {
			if err := eachText(v, check); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLocalPath returns an error for anything but a path in the source. A text with a line break
// is no YAML to kustomize here, but it passes it to git.
func checkLocalPath(entry string) error {
	if strings.ContainsFunc(entry, unicode.IsControl) {
		return fmt.Errorf("%q is no path of a file; write it in one line", excerpt(entry))
	}
	return checkLocal(entry)
}

// checkLocal returns an error for a reference that kustomize could resolve outside of the source.
// Inline YAML is no reference.
func checkLocal(entry string) error {
	if strings.Contains(entry, "\n") {
		return nil
	}
	if strings.ContainsAny(entry, ":@?") || strings.Contains(strings.ToLower(entry), "github.com") {
		return fmt.Errorf("%q is not in the source, and nothing is fetched from elsewhere; put a copy into the repository "+
			"and name its path", excerpt(entry))
	}
	return nil
}

// checkPlugin returns an error for a generator, transformer or validator that is not built into
// kustomize, or that reads files outside of the source.
func (c *sourceFS) checkPlugin(dir, entry string) error {
	text := entry
	if !strings.Contains(entry, "\n") {
		if err := checkLocal(entry); err != nil {
			return err
		}
		content, err := c.FileSystem.ReadFile(path.Join(dir, entry))
		if err != nil {
			return fmt.Errorf("%q is no file of the source; name files here, not directories", excerpt(entry))
		}
		text = string(content)
	}
	documents, err := split(text)
	if err != nil {
		return err
	}
	for _, d := range documents {
		var whole map[string]any
		if err := yaml.UnmarshalStrict([]byte(d.text), &whole); err != nil {
			return fmt.Errorf("%s: %s; correct the YAML", excerpt(entry), kustomizeError(err))
		}
		if err := checkBuiltin(whole); err != nil {
			return err
		}
		if err := c.checkReads(dir, whole); err != nil {
			return err
		}
	}
	return nil
}

// checkReads returns an error for files outside of the source, at any depth,
// and for files of variables without values: kustomize would take the values from the
// environment of this process.
func (c *sourceFS) checkReads(dir string, value any) error {
	if err := eachText(valuesAt(value, "path", "paths", "files", "envs", "env"), checkLocalFile); err != nil {
		return err
	}
	return eachText(valuesAt(value, "envs", "env"), func(entry string) error { return c.checkEnvFile(dir, entry) })
}

// checkLocalFile returns an error for anything but a path in the source. A generator may
// prefix the path with a key.
func checkLocalFile(entry string) error {
	if _, name, keyed := strings.Cut(entry, "="); keyed {
		entry = name
	}
	return checkLocalPath(entry)
}

// checkEnvFile returns an error for a file of variables in which one has no value. For a missing
// file it returns nil, because kustomize reports that itself.
func (c *sourceFS) checkEnvFile(dir, entry string) error {
	content, err := c.FileSystem.ReadFile(path.Join(dir, entry))
	if err != nil {
		return nil
	}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF"))
		if line != "" && !strings.HasPrefix(line, "#") && !strings.Contains(line, "=") {
			// The error omits the line, which may be a secret.
			return fmt.Errorf("%s: line %d has a name and no value, and none is taken from the environment of the build; "+
				"write NAME=value", excerpt(entry), number)
		}
	}
	return nil
}

// checkBuiltin returns an error for a plugin that is not built into kustomize.
func checkBuiltin(whole map[string]any) error {
	version, kind := "", ""
	for key, value := range whole {
		switch text, _ := value.(string); {
		case isOneOf(key, "apiVersion"):
			version = text
		case isOneOf(key, "kind"):
			kind = text
		}
	}
	if version != "builtin" || strings.Contains(strings.ToLower(kind), "helm") {
		return fmt.Errorf("%s of %q would run a program, and none is run here; use kustomize's own transformers, of "+
			"apiVersion builtin",
			excerpt(kind), excerpt(version))
	}
	return nil
}
