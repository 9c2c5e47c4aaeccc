package app

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
)

// codeKey is the path of the fields about the code of a component or an action, which are in no config.
const codeKey = "code"

// codeOf returns how the code of a component or an action with the same name on both sides differs;
// nil if it does not. Of an action that runs the code of several directories, the files are of all.
func (b *builder) codeOf(p pair) *appcode.Change {
	if p.before == nil || p.after == nil || p.before.address != p.after.address {
		return nil
	}
	var merged *appcode.Change
	for _, name := range slices.Compact(slices.Sorted(slices.Values(p.after.code))) {
		change, differs := b.code[name]
		if !differs {
			continue
		}
		if merged == nil {
			merged = &appcode.Change{}
		}
		merged.Files = append(merged.Files, change.Files...)
		merged.NotListed = cmp.Or(merged.NotListed, change.NotListed)
		merged.Before, merged.After = cmp.Or(merged.Before, change.Before), cmp.Or(merged.After, change.After)
	}
	if merged != nil {
		slices.SortFunc(merged.Files, func(a, b gittree.Change) int { return cmp.Compare(a.Path, b.Path) })
		merged.Files = slices.CompactFunc(merged.Files, func(a, b gittree.Change) bool { return a.Path == b.Path })
	}
	return merged
}

// codeFields returns the changed files, each with the hash of its content, and any reason why the
// code cannot be built.
func (b *builder) codeFields(code *appcode.Change) []diff.FieldChange {
	var fields []diff.FieldChange
	for _, file := range code.Files {
		fields = append(fields, b.codeField(file.Path, fileSide(file.Before), fileSide(file.After)))
	}
	if code.Before != code.After {
		fields = append(fields, b.codeField("", problemSide(code.Before), problemSide(code.After)))
	}
	if code.NotListed != "" {
		text := "the changed files are not listed, because " + code.NotListed
		fields = append(fields, b.codeField("…", diff.UnmaskedSide{Absent: true}, diff.UnmaskedSide{Value: raw.Of(text)}))
	}
	return fields
}

func (b *builder) codeField(file string, before, after diff.UnmaskedSide) diff.FieldChange {
	path := tree.Path{}.Field(codeKey)
	if file != "" {
		path = path.Field(file)
	}
	shown := func(text string) string { return nameOf(b.masker, text) }
	f := b.masker.Field(path, before, after)
	f.Path, f.Pointer = pathOf(path, shown), path.Pointer(func(s tree.Step) string { return shown(s.Plain()) })
	return f
}

func problemSide(problem string) diff.UnmaskedSide {
	if problem == "" {
		return diff.UnmaskedSide{Absent: true}
	}
	return diff.UnmaskedSide{Value: raw.Of("cannot be built: " + problem)}
}

// hashDigits is the number of digits shown of a hash.
const hashDigits = 10

// fileSide returns the state of a tree at a path: git's hash of the content, and the file mode
// unless it is a regular file.
func fileSide(f gittree.File) diff.UnmaskedSide {
	if f.Hash == "" {
		return diff.UnmaskedSide{Absent: true}
	}
	words := "git " + f.Hash[:min(hashDigits, len(f.Hash))]
	switch {
	case f.Mode&fs.ModeDir != 0:
		words += ", directory"
	case f.Mode&fs.ModeSymlink != 0:
		words += ", symbolic link"
	case f.Mode&fs.ModeIrregular != 0:
		words += ", submodule"
	case f.Mode&0o100 != 0:
		words += ", executable"
	}
	return diff.UnmaskedSide{Value: raw.Of(words)}
}
