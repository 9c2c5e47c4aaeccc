package configfetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// readLocal reads a file of this machine, if this is the machine of the config's author.
func (f *Fetcher) readLocal(name string, limit int64) ([]byte, error) {
	if !f.options.Local {
		return nil, permanent("file:// is only read where the config lies", localFileRemedy)
	}
	// Stat comes before Open, because opening a pipe blocks until there is a writer.
	if info, err := os.Stat(name); err != nil {
		return nil, explainFile(err)
	} else if !info.Mode().IsRegular() {
		return nil, permanent("it is not a regular file", "name a file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, explainFile(err)
	}
	defer func() { _ = file.Close() }() // the close error does not matter: it was only read
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, explainFile(err)
	}
	return data, nil
}

// IsLocal reports whether a reference is to a file on the machine of its author.
func IsLocal(reference string) bool { return strings.HasPrefix(reference, "file://") }

// LocalPath returns the path of the file of a local reference; empty for every other text.
func LocalPath(reference string) string {
	if r, err := parseLocal(reference); err == nil && IsLocal(reference) {
		return r.path
	}
	return ""
}

// UploadPath returns the slash path in an uploaded directory under which the file of a local reference
// is included, because the receiver of the upload cannot read it from the author's machine.
func UploadPath(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return ".nuon/files/" + hex.EncodeToString(sum[:])
}

func explainFile(err error) *Error {
	var pathError *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return permanent("it does not exist", "check the path")
	case errors.Is(err, fs.ErrPermission):
		return permanent("it may not be read", "check the file's permissions")
	case errors.As(err, &pathError):
		err = pathError.Err
	}
	return permanent(fmt.Sprint(err), "check the path")
}
