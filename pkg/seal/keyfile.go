package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// keyFileLimit is far above any identity file; what is larger is not one.
const keyFileLimit = 16 << 10

// LoadIdentity reads an identity file. Others than its owner must not be able to read it. A missing file gives an error that
// wraps fs.ErrNotExist.
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
		return Identity{}, fmt.Errorf("read key file %s: others may read it (mode %04o); run: chmod 600 %s", file, info.Mode().Perm(), file)
	}
	text, err := io.ReadAll(io.LimitReader(opened, keyFileLimit+1))
	if err != nil {
		return Identity{}, fmt.Errorf("read key file %s: %w", file, err)
	}
	if len(text) > keyFileLimit {
		return Identity{}, fmt.Errorf("read key file %s: it is larger than %d bytes, so it is no key file", file, keyFileLimit)
	}
	identity, err := ParseIdentity(string(text))
	if err != nil {
		return Identity{}, fmt.Errorf("read key file %s: %w", file, err)
	}
	return identity, nil
}

// CreateIdentity makes a new key and writes it to file with mode 0600. It never replaces anything: when file exists the error
// wraps fs.ErrExist. The key is on disk before it returns, and file is either whole or not there, even when the machine stops in
// between; a lost install key loses what was sealed to it.
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

// LoadOrCreateIdentity reads file, or creates it when it is not there. Two processes that do so at once end with the same key.
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

// writeIdentity writes beside the file and then links: a link, unlike a rename, does not replace what is there, and unlike O_EXCL
// on the file itself it never leaves a half-written key under the final name.
func writeIdentity(file string, identity Identity) error {
	dir := filepath.Dir(file)
	beside, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*") // mode 0600, O_EXCL
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(beside.Name()) }()
	text := "# public key: " + identity.Recipient().String() + "\n" + identity.key().String() + "\n"
	_, err = beside.WriteString(text)
	if err == nil {
		err = beside.Sync()
	}
	if closed := beside.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Link(beside.Name(), file); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the new name itself survive a crash.
func syncDir(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = opened.Sync()
	return errors.Join(err, opened.Close())
}
