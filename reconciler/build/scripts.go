package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Bounds of the code of actions that an approver is shown: bytes of text, and files. Beyond them, a file
// is named with its digest and size, or is part of one digest.
const (
	maxShownText  = 64 << 10
	maxShownFiles = 500
)

// Names of what is shown besides the files. No path of a file ends in a slash.
const (
	executableFiles = "executable files/"
	symbolicLinks   = "symbolic links/"
	hiddenFiles     = "files that are not shown/"
	moreFiles       = "more files/"
)

// scriptFiles returns the files of a source of actions by path: texts as they are while they are small,
// links by their targets, and the digest and size of all others; the paths of those that are
// executable, of the links and of the files that are not shown, because a text can look like any of them;
// and one digest of the files that are too many.
func scriptFiles(files []artifact.File) map[string]string {
	shown, left := map[string]string{}, maxShownText
	if len(files) > maxShownFiles {
		more := files[maxShownFiles:]
		files = files[:maxShownFiles]
		shown[moreFiles] = fmt.Sprintf("%s (%s, not shown)", digestOfFiles(more), diff.Plural(len(more), "file", "files"))
	}
	for _, file := range files {
		if file.Executable {
			shown[executableFiles] += onOneLine(file.Path) + "\n"
		}
		switch size := len(file.Content); {
		case file.Link != "":
			shown[file.Path] = "symbolic link to " + file.Link
			shown[symbolicLinks] += onOneLine(file.Path) + "\n"
		case size <= left && utf8.Valid(file.Content) && !bytes.ContainsRune(file.Content, 0):
			shown[file.Path] = string(file.Content)
			left -= size
		default:
			shown[file.Path] = fmt.Sprintf("%s (%s, not shown)", sha256digest.Of(file.Content),
				diff.Plural(size, "byte", "bytes"))
			shown[hiddenFiles] += onOneLine(file.Path) + "\n"
		}
	}
	return shown
}

// onOneLine returns a path, quoted if it has control characters. A backslash is in no path.
func onOneLine(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// digestOfFiles returns the digest of the paths, modes, targets and contents of files.
func digestOfFiles(files []artifact.File) string {
	var lines bytes.Buffer
	for _, file := range files {
		_, _ = fmt.Fprintf(&lines, "%q executable=%t link=%q %s\n", file.Path, file.Executable, file.Link,
			sha256digest.Of(file.Content)) // a bytes.Buffer accepts all writes
	}
	return sha256digest.Of(lines.Bytes())
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
