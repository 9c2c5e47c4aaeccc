package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Bounds of the code of actions that an approver is shown: bytes of text, and files. Beyond them, a file
// is named with its digest and size, or counted.
const (
	maxShownText  = 64 << 10
	maxShownFiles = 500
)

// scriptFiles returns the files of a source of actions by path: texts as they are while they are small,
// links by their targets, and the digest and size of all others.
func scriptFiles(files []artifact.File) map[string]string {
	shown, left := map[string]string{}, maxShownText
	for i, file := range files {
		if i == maxShownFiles {
			shown["…"] = fmt.Sprintf("%d more files", len(files)-i)
			break
		}
		switch size := len(file.Content); {
		case file.Link != "":
			shown[file.Path] = "symbolic link to " + file.Link
		case size <= left && utf8.Valid(file.Content) && !bytes.ContainsRune(file.Content, 0):
			shown[file.Path] = string(file.Content)
			left -= size
		default:
			shown[file.Path] = fmt.Sprintf("%s (%s, not shown)", sha256digest.Of(file.Content),
				diff.Plural(size, "byte", "bytes"))
		}
	}
	return shown
}

// ScriptFiles returns the files of a source of actions that a build was made from, as scriptFiles does.
func ScriptFiles(ctx context.Context, tx *store.Tx, buildID string) (map[string]string, error) {
	built, err := tx.ViewBuild(ctx, tx.Org, buildID)
	if err != nil {
		return nil, err
	}
	input, err := tx.ComponentInputByID(ctx, tx.Org, built.Build.InputID)
	if err != nil {
		return nil, err
	}
	var recipe Recipe
	if err := json.Unmarshal(input.Recipe, &recipe); err != nil {
		return nil, fmt.Errorf("read recipe: %w", err)
	}
	return recipe.Scripts, nil
}
