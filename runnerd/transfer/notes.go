package transfer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// keepNotes is how long a note about a blob is used.
const keepNotes = 30 * 24 * time.Hour

// maxNote bounds a note, in bytes.
const maxNote = 1024

// hasBlob reports whether the repository has a blob, after it has been mounted from the repository
// that a note names, if the registry does that.
func (c *copier) hasBlob(ctx context.Context, blob artifact.Blob) (there bool, err error) {
	err = c.retry(ctx, func() (err error) {
		there, err = c.to.HasBlob(ctx, blob)
		return err
	})
	if err != nil || there {
		return there, err
	}
	from, known := c.notedRepository(blob)
	if !known {
		return false, nil
	}
	mounted, err := c.to.Mount(ctx, blob, from)
	if err != nil {
		c.log.Info("%v; the blob is copied instead", err)
	}
	return mounted, ctx.Err()
}

// notePath returns the path of the note about a blob of a registry.
func (c *copier) notePath(blob artifact.Blob) string {
	host := strings.ReplaceAll(c.to.Reference().Host, ":", "_")
	return filepath.Join(c.notes, host, strings.ReplaceAll(blob.Digest, ":", "-"))
}

// noteBlob notes which repository of its registry has a blob. A missing note costs only a copy.
func (c *copier) noteBlob(blob artifact.Blob) {
	path := c.notePath(blob)
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = os.WriteFile(path, []byte(c.to.Reference().Repository), 0o600)
	}
}

// notedRepository returns another repository of the registry that had a blob.
func (c *copier) notedRepository(blob artifact.Blob) (artifact.Reference, bool) {
	path := c.notePath(blob)
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxNote || time.Since(info.ModTime()) > keepNotes {
		_ = os.Remove(path)
		return artifact.Reference{}, false
	}
	name, err := os.ReadFile(path)
	other := c.to.Reference()
	if err != nil || string(name) == other.Repository {
		return artifact.Reference{}, false
	}
	other.Repository = string(name)
	return other, true
}

// clearNotes removes notes that are no longer used.
func (c *copier) clearNotes() {
	notes, _ := filepath.Glob(filepath.Join(c.notes, "*", "*")) // the pattern is valid
	for _, path := range notes {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > keepNotes {
			_ = os.Remove(path)
		}
	}
}
