package tfmodule

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// Call is a module block of one directory.
type Call struct {
	// Name is the label of the block.
	Name string
	// Source and Version are as written; Version may be empty. A source that is not a literal is the
	// text of its expression, such as "var.source".
	Source, Version string
	// Position is the position of the block.
	Position Position
}

// IsLocal reports whether the source is a path ("./x" or "../x") and not an address to fetch from.
func (c Call) IsLocal() bool { return isLocal(c.Source) }

// Calls returns the module calls in the files of one directory of fsys, by name. The limits and
// errors are those of Read. found is false if the directory has no configuration files.
func Calls(fsys fs.FS, dir string) (calls []Call, found bool, err error) {
	dir = path.Clean(dir)
	if !fs.ValidPath(dir) {
		return nil, false, fmt.Errorf("module directory %q leads out of the tree; name a directory inside it", dir)
	}
	parsed, err := parseDir(tree{fsys: fsys, read: new(int)}, dir)
	if err != nil || parsed == nil {
		return nil, false, err
	}
	for _, name := range slices.Sorted(maps.Keys(parsed.ModuleCalls)) {
		block := parsed.ModuleCalls[name]
		call := Call{Name: name, Source: block.Source, Version: block.Version,
			Position: Position{File: block.Pos.Filename, Line: block.Pos.Line}}
		if call.Source == "" {
			return nil, false, fmt.Errorf("%s: module %q has no source; give it one, such as \"../shared\"",
				call.Position, name)
		}
		calls = append(calls, call)
	}
	return calls, true, nil
}
