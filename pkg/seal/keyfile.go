package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// keyFileLimit is far above the size of any identity file. Larger files are rejected.
const keyFileLimit = 16 << 10

// LoadIdentity reads an identity file. It fails if users other than the owner can read the file.
// The error for a missing file wraps fs.ErrNotExist.
func LoadIdentity(file string) (Identity, error) {
	opened, err := os.Open(file)
	if err != nil {
		return Identity{}, fmt.Errorf("read key file: %w", err)
	}
	defer func() { _ = opened.Close() }()
	info, err := opened.Stat()
	if err != nil {
		return Identity{}, fmt.Errorf("read key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Identity{}, fmt.Errorf("read key file %s: it is not a regular file", file)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return Identity{}, fmt.Errorf("read key file %s: others may read it (mode %04o); run: chmod 600 %s",
			file, info.Mode().Perm(), file)
	}
	text, err := io.ReadAll(io.LimitReader(opened, keyFileLimit+1))
	if err != nil {
		return Identity{}, fmt.Errorf("read key file %s: %w", file, err)
	}
	if len(text) > keyFileLimit {
		return Identity{}, fmt.Errorf("read key file %s: it is larger than %d bytes, so it is no key file",
			file, keyFileLimit)
	}
	identity, err := ParseIdentity(string(text))
	if err != nil {
		return Identity{}, fmt.Errorf("read key file %s: %w", file, err)
	}
	return identity, nil
}

// CreateIdentity generates a key and writes it to file with mode 0600. It never replaces a file: if
// file exists, the error wraps fs.ErrExist. The key is on disk before the function returns, and
// file is either complete or missing, also after a crash, because values that are sealed to a lost
// install key are lost.
func CreateIdentity(file string) (Identity, error) {
	identity, err := NewIdentity()
	if err != nil {
		return Identity{}, err
	}
	if err := writeIdentity(file, identity); err != nil {
		return Identity{}, fmt.Errorf("create key file %s: %w", file, err)
	}
	return identity, nil
}

// LoadOrCreateIdentity reads file, or creates it if it does not exist. Two processes that do so at
// the same time get the same key.
func LoadOrCreateIdentity(file string) (Identity, error) {
	identity, err := LoadIdentity(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return identity, err
	}
	identity, err = CreateIdentity(file)
	if errors.Is(err, fs.ErrExist) {
		return LoadIdentity(file)
	}
	return identity, err
}

// writeIdentity writes a temporary file in the same directory and then links it. Unlike a rename, a
// link does not replace an existing file; and unlike O_EXCL on the file itself, it never leaves a
// partial key under the final name.
func writeIdentity(file string, identity Identity) error {
	dir := filepath.Dir(file)
	tempFile, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*") // mode 0600, O_EXCL
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tempFile.Name()) }()
	text := "# public key: " + identity.Recipient().String() + "\n" + identity.key().String() + "\n"
	_, err = tempFile.WriteString(text)
	if err == nil {
		err = tempFile.Sync()
	}
	if closed := tempFile.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Link(tempFile.Name(), file); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir flushes the directory, so that the new name survives a crash.
func syncDir(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = opened.Sync()
	return errors.Join(err, opened.Close())
}
