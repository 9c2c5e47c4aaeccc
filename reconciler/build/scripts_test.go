package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// TestScriptFiles: an approver sees small texts as they are, and a digest or a number for everything else.
func TestScriptFiles(t *testing.T) {
	large := strings.Repeat("x", maxShownText)
	files := []artifact.File{
		{Path: "a.sh", Content: []byte("#!/bin/sh\n")}, {Path: "binary", Content: []byte("\x00\x01")},
		{Path: "invalid", Content: []byte("\xff")}, {Path: "large", Content: []byte(large)}, {Path: "link", Link: "../a"},
		{Path: "z.sh", Content: []byte("z")},
	}
	want := map[string]string{
		"a.sh": "#!/bin/sh\n", "link": "symbolic link to ../a", "z.sh": "z",
		"binary":  sha256digest.Of([]byte("\x00\x01")) + " (2 bytes, not shown)",
		"invalid": sha256digest.Of([]byte("\xff")) + " (1 byte, not shown)",
		"large":   fmt.Sprintf("%s (%d bytes, not shown)", sha256digest.Of([]byte(large)), maxShownText),
	}
	if diff := cmp.Diff(want, scriptFiles(files)); diff != "" {
		t.Error(diff)
	}
	for i := range maxShownFiles {
		files = append(files, artifact.File{Path: fmt.Sprintf("zz/%d", i)})
	}
	shown := scriptFiles(files)
	if len(shown) != maxShownFiles+1 || shown["…"] != "6 more files" {
		t.Errorf("%d files are shown, and %q", len(shown), shown["…"])
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
