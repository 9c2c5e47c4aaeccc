package remote

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
		return nil, refuse("file:// is only read where the config lies", besides)
	}
	// Looked at before it is opened: opening a pipe waits for somebody to write.
	if info, err := os.Stat(name); err != nil {
		return nil, explainFile(err)
	} else if !info.Mode().IsRegular() {
		return nil, refuse("it is not a regular file", "name a file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, explainFile(err)
	}
	defer func() { _ = file.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, explainFile(err)
	}
	return data, nil
}

// IsLocal says whether a reference is to a file of its author's machine.
func IsLocal(reference string) bool { return strings.HasPrefix(reference, "file://") }

// Carried is the slash path at which an uploaded directory carries what a reference to its author's machine names: the machine that
// takes the upload in cannot read there.
func Carried(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return ".nuon/files/" + hex.EncodeToString(sum[:])
}

func explainFile(err error) *Error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("it does not exist", "check the path")
	case errors.Is(err, fs.ErrPermission):
		return refuse("it may not be read", "check the file's permissions")
	case errors.As(err, &at):
		err = at.Err
	}
	return refuse(fmt.Sprint(err), "check the path")
}
