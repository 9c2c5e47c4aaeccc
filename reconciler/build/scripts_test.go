package build

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// TestScriptFiles: an approver sees small texts as they are, which files are executable, and a digest of everything
// else.
func TestScriptFiles(t *testing.T) {
	large := strings.Repeat("x", maxShownText)
	files := []artifact.File{
		{Path: "a.sh", Content: []byte("#!/bin/sh\n")}, {Path: "binary", Content: []byte("\x00\x01")},
		{Path: "in\nvalid", Content: []byte("\xff"), Executable: true}, {Path: "large", Content: []byte(large)},
		{Path: "link", Link: "../a"}, {Path: "z.sh", Content: []byte("z"), Executable: true},
	}
	want := map[string]string{
		"a.sh": "#!/bin/sh\n", "link": "symbolic link to ../a", "z.sh": "z",
		"binary":            sha256digest.Of([]byte("\x00\x01")) + " (2 bytes, not shown)",
		"in\nvalid":         sha256digest.Of([]byte("\xff")) + " (1 byte, not shown)",
		"executable files/": `"in\nvalid"` + "\nz.sh\n",
		"symbolic links/":   "link\n", "files that are not shown/": "binary\n" + `"in\nvalid"` + "\nlarge\n",
		"large": fmt.Sprintf("%s (%d bytes, not shown)", sha256digest.Of([]byte(large)), maxShownText),
	}
	if diff := cmp.Diff(want, scriptFiles(files)); diff != "" {
		t.Error(diff)
	}
}

// TestEveryChangeOfAScriptFileShows changes each property of a file that is shown by its path, and of one of those that
// are too many.
func TestEveryChangeOfAScriptFileShows(t *testing.T) {
	var files []artifact.File
	for i := range maxShownFiles + 6 {
		files = append(files, artifact.File{Path: fmt.Sprintf("%03d", i), Content: []byte("a")})
	}
	before := scriptFiles(files)
	if len(before) != maxShownFiles+1 || !strings.HasSuffix(before[moreFiles], " (6 files, not shown)") {
		t.Errorf("%d files are shown, and %q", len(before), before[moreFiles])
	}
	for at, name := range map[int]string{0: "", maxShownFiles: moreFiles, len(files) - 1: moreFiles} {
		for _, changed := range []artifact.File{
			{Path: files[at].Path, Content: []byte("b")}, {Path: files[at].Path, Content: []byte("a"), Executable: true},
			{Path: files[at].Path, Link: "a"}, {Path: files[at].Path + "x", Content: []byte("a")},
		} {
			after := slices.Clone(files)
			after[at] = changed
			shown := scriptFiles(after)
			if cmp.Equal(before, shown) || name != "" && before[name] == shown[name] {
				t.Errorf("file %d as %+v is shown as it was", at, changed)
			}
		}
		if shown := scriptFiles(slices.Delete(slices.Clone(files), at, at+1)); cmp.Equal(before, shown) {
			t.Errorf("without file %d the same is shown", at)
		}
	}
}

// TestATextLooksLikeNothingElse checks that a text with the words for a link, or for a file that is not shown, is not
// shown as one.
func TestATextLooksLikeNothingElse(t *testing.T) {
	for _, other := range []artifact.File{{Path: "a", Link: "b"}, {Path: "a", Content: []byte{0}}} {
		shown := scriptFiles([]artifact.File{other})
		text := artifact.File{Path: "a", Content: []byte(shown["a"])}
		if cmp.Equal(shown, scriptFiles([]artifact.File{text})) {
			t.Errorf("the text %q is shown as %+v", text.Content, other)
		}
	}
}

// TestScriptsAreNotPartOfTheDigest: what an approver is shown does not identify an input.
func TestScriptsAreNotPartOfTheDigest(t *testing.T) {
	recipe := Recipe{Format: recipeFormat, Kind: "action_source", Directory: "scripts"}
	digest := recipe.Digest()
	recipe.Scripts = map[string]string{"scripts/a.sh": "a"}
	if recipe.Digest() != digest || recipe.Scripts == nil {
		t.Error("the digest depends on the shown scripts, or took them away")
	}
}
