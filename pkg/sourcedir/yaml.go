package sourcedir

import (
	"errors"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// maxYAML bounds the size of a YAML file in bytes.
const maxYAML = 1 << 20

// maxDirectories bounds the number of directories that one component is built from.
const maxDirectories = 200

// yamlLine matches the line number in an error of the YAML parser.
var yamlLine = lazyregexp.New(`line ([0-9]+)`)

// readYAML reads one file; it returns false if the file does not exist. The error for an invalid
// file quotes nothing of it.
func readYAML(tree fs.FS, name string, into any) (exists bool, err error) {
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
