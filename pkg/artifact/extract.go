package artifact

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// Extract unpacks a layer from Tarball, or from an untrusted source, below dir. The directory must
// be missing or empty, because an existing link could redirect a write. Extract checks the whole
// layer before it writes the first byte, and on failure it removes dir with everything that it
// wrote.
func Extract(layer []byte, dir string, limits Limits) error {
	files, err := Untar(layer, limits)
	if err != nil {
		return err
	}
	return WriteTree(files, dir, limits)
}

// WriteTree writes files below dir under the rules of Extract. Files get mode 0644 or 0755
// regardless of the umask, directories 0755.
func WriteTree(files []File, dir string, limits Limits) (err error) {
	if err := CheckTree(files, limits); err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	if err := mustBeEmpty(dir); err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, file := range sorted(files) {
		if err := writeFile(root, file); err != nil {
			return fmt.Errorf("write %s: %w", file.Path, err)
		}
	}
	return nil
}

func mustBeEmpty(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	if _, err := opened.Readdirnames(1); !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("%s is not empty; name a directory that is empty or does not exist", dir), err)
	}
	return nil
}

func writeFile(root *os.Root, file File) error {
	name := filepath.FromSlash(file.Path)
	if parent := path.Dir(file.Path); parent != "." {
		if err := root.MkdirAll(filepath.FromSlash(parent), 0o755); err != nil {
			return err
		}
	}
	if file.Link != "" {
		return root.Symlink(filepath.FromSlash(file.Link), name)
	}
	mode := os.FileMode(0o644)
	if file.Executable {
		mode = 0o755
	}
	opened, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = opened.Write(file.Content)
	// The umask may have removed bits from the mode of OpenFile.
	return errors.Join(err, opened.Chmod(mode), opened.Close())
}
