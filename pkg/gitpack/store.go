package gitpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// Spool copies a pack from a server to a file in dir, and removes the file if it fails. It reads at
// most limit bytes. A file is cheaper than memory while it waits for a slow server.
func Spool(pack io.Reader, dir string, limit int64) (file *os.File, size int64, err error) {
	file, err = os.CreateTemp(dir, "nuon-pack-")
	if err != nil {
		return nil, 0, fmt.Errorf("spool a pack: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Discard(file))
			file = nil
		}
	}()
	size, err = io.Copy(file, newResponseBudget("a pack", limit).Limit(io.NopCloser(pack)))
	return file, size, err
}

// Discard closes and removes a file that Spool created.
func Discard(file *os.File) error {
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// Store reads a pack from a server and adds it, with an index, to the pack directory of a
// repository. An empty stream adds nothing. If Store fails, it leaves nothing of the pack behind.
func Store(ctx context.Context, pack io.Reader, dir string, options Options) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store a pack: %w", err)
	}
	file, size, err := Spool(pack, dir, options.Limits.Pack)
	if err != nil {
		return err
	}
	stored := false
	defer func() {
		if !stored {
			err = errors.Join(err, Discard(file))
		}
	}()
	if size == 0 {
		return nil
	}
	var index idxfile.Writer
	options.Content = -1
	checksum, err := Index(ctx, file, size, options, func(o Object) error {
		index.Add(o.Hash, uint64(o.Offset), o.CRC) //nolint:gosec // an offset in a file
		return nil
	})
	if err != nil {
		return err
	}
	if err := index.OnFooter(checksum); err != nil {
		return fmt.Errorf("index a pack: %w", err)
	}
	base := filepath.Join(dir, "pack-"+checksum.String())
	if err := writeIndex(&index, base+".idx"); err != nil {
		return err
	}
	// A repository uses a pack as soon as the pack has its final name, so the index is written
	// first.
	stored = true
	if err := errors.Join(file.Close(), os.Rename(file.Name(), base+".pack")); err != nil {
		return fmt.Errorf("store a pack: %w", err)
	}
	return nil
}

func writeIndex(index *idxfile.Writer, path string) error {
	table, err := index.Index()
	if err != nil {
		return fmt.Errorf("index a pack: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("index a pack: %w", err)
	}
	_, err = idxfile.NewEncoder(file).Encode(table)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("index a pack: %w", err)
	}
	return nil
}
