package sourcedir

import (
	"errors"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// maxYAML bounds a file that is read to find what a component is built from.
const maxYAML = 1 << 20

// maxDirectories bounds the directories that one component is built from.
const maxDirectories = 200

// yamlLine is how the parser names a line.
var yamlLine = lazyregexp.New(`line ([0-9]+)`)

// readYAML reads one file; false when it is not there. What it says of a broken one quotes nothing of it.
func readYAML(tree fs.FS, name string, into any) (there bool, err error) {
	info, err := fs.Stat(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is no file; commit it as one", name)
	}
	if info.Size() > maxYAML {
		return false, fmt.Errorf("%s has %d bytes, and %d are the most", name, info.Size(), maxYAML)
	}
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return false, err
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		place := name
		if line := yamlLine.FindStringSubmatch(err.Error()); line != nil {
			place = fmt.Sprintf("%s:%s", name, line[1])
		}
		return true, fmt.Errorf("%s: this is not the YAML that is wanted here; correct it", place)
	}
	return true, nil
}
