package sourcedir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kustomizationFiles are the file names that kustomize accepts.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// kustomization contains the fields of a kustomization that can refer to other directories. All
// other fields refer to files in or below its own directory.
type kustomization struct {
	Resources      []yaml.Node `yaml:"resources"`
	Bases          []yaml.Node `yaml:"bases"`
	Components     []yaml.Node `yaml:"components"`
	Generators     []yaml.Node `yaml:"generators"`
	Transformers   []yaml.Node `yaml:"transformers"`
	Validators     []yaml.Node `yaml:"validators"`
	Configurations []yaml.Node `yaml:"configurations"`
	CRDs           []yaml.Node `yaml:"crds"`
}

func (k *kustomization) names() []yaml.Node {
	return slices.Concat(k.Resources, k.Bases, k.Components, k.Generators, k.Transformers, k.Validators,
		k.Configurations, k.CRDs)
}

// kustomizeDirectories returns the directories that a kustomization is built from, sorted: its own,
// those of the kustomizations and files that it refers to, directly or indirectly, and those that
// links in them lead to. A reference that the build would have to fetch is an error.
func kustomizeDirectories(tree fs.FS, root string) ([]string, error) {
	if !fs.ValidPath(root) {
		return nil, fmt.Errorf("kustomize.path %s is outside of the repository; correct it", root)
	}
	dirs, files := []string{root}, []string{}
	for i := 0; i < len(dirs); i++ {
		further, fileDirs, err := readKustomization(tree, dirs[i])
		if err != nil {
			return nil, err
		}
		for _, dir := range further {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
			if len(dirs) > maxDirectories {
				return nil, fmt.Errorf("the kustomization in %s is made from more than %d others", root, maxDirectories)
			}
		}
		files = append(files, fileDirs...)
	}
	return withLinked(tree, append(dirs, files...))
}

// readKustomization returns the directories that a kustomization refers to, and those of files that
// it refers to in other directories. kustomize rejects files in other directories with its own
// message.
func readKustomization(tree fs.FS, dir string) (dirs, fileDirs []string, err error) {
	file, read, err := kustomizationIn(tree, dir)
	if err != nil {
		return nil, nil, err
	}
	for _, node := range read.names() {
		if node.Kind == yaml.AliasNode {
			node = *node.Alias
		}
		name := node.Value
		if node.Kind != yaml.ScalarNode || name == "" || strings.Contains(name, "\n") { // inline
			continue
		}
		target := path.Join(dir, name)
		if path.IsAbs(name) || !fs.ValidPath(target) && !strings.Contains(name, "://") {
			return nil, nil, fmt.Errorf("%s:%d: %s leads out of the repository; copy it into the repository",
				file, node.Line, target)
		}
		info, err := fs.Stat(tree, target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, fmt.Errorf("%s:%d: there is no %q in the repository, and a build fetches nothing for a "+
				"kustomization; commit it there",
				file, node.Line, name)
		case err != nil:
			return nil, nil, fmt.Errorf("%s:%d: %w; commit what it leads to", file, node.Line, err)
		case info.IsDir():
			dirs = append(dirs, target)
		case !isBelow(target, dir):
			fileDirs = append(fileDirs, path.Dir(target))
		}
	}
	return dirs, fileDirs, nil
}

// kustomizationIn reads the kustomization file of a directory, which must have exactly one.
func kustomizationIn(tree fs.FS, dir string) (file string, read kustomization, err error) {
	for _, name := range kustomizationFiles {
		name = path.Join(dir, name)
		var candidate kustomization
		exists, err := readYAML(tree, name, &candidate)
		switch {
		case err != nil:
			return "", read, err
		case exists && file != "":
			return "", read, fmt.Errorf("both %s and %s are there; keep one of them", file, name)
		case exists:
			file, read = name, candidate
		}
	}
	if file == "" {
		return "", read, fmt.Errorf("there is no %s in %s; commit it there, or correct the path",
			kustomizationFiles[0], dir)
	}
	return file, read, nil
}
