package pgcluster

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

const (
	// maxTreeBytes bounds the unpacked size of a jar; a server has about 60 MB.
	maxTreeBytes = 768 << 20
	// maxTreeEntries bounds the number of files; a server has about 1,500.
	maxTreeEntries = 20_000
)

// unpackJar unpacks the only .txz of a jar below dir, which it creates. The digest proves only that
// the bytes are the published ones, so the content is confined nevertheless: only files,
// directories and links that stay below dir, within limits.
func unpackJar(jar, dir string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("open the jar: %w", err)
	}
	defer func() { _ = archive.Close() }()
	var packed *zip.File
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, ".txz") {
			continue
		}
		if packed != nil {
			return fmt.Errorf("open the jar: it holds both %s and %s", packed.Name, file.Name)
		}
		packed = file
	}
	if packed == nil {
		return errors.New("open the jar: there is no .txz file in it")
	}
	opened, err := packed.Open()
	if err != nil {
		return fmt.Errorf("open %s: %w", packed.Name, err)
	}
	defer func() { _ = opened.Close() }()
	plain, err := xz.NewReader(opened)
	if err != nil {
		return fmt.Errorf("open %s: %w", packed.Name, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := unpackTar(plain, root); err != nil {
		return fmt.Errorf("unpack %s: %w", packed.Name, err)
	}
	return nil
}

func unpackTar(plain io.Reader, root *os.Root) error {
	// The limit is one byte more than allowed, so that a larger archive is an error instead of a
	// truncated one.
	limited := &io.LimitedReader{R: plain, N: maxTreeBytes + 1}
	archive := tar.NewReader(limited)
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if limited.N <= 0 {
			return fmt.Errorf("it unpacks to more than %d bytes", int64(maxTreeBytes))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entries >= maxTreeEntries {
			return fmt.Errorf("it holds more than %d files", maxTreeEntries)
		}
		if err := unpackEntry(archive, header, root); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

// unpackEntry writes through an os.Root, which rejects every path that leaves it, also through a
// link from an earlier entry.
func unpackEntry(content io.Reader, header *tar.Header, root *os.Root) error {
	name := filepath.FromSlash(path.Clean(header.Name))
	if name == "." {
		return nil
	}
	if header.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeSymlink:
		reached := path.Join(path.Dir(path.Clean(header.Name)), header.Linkname)
		if path.IsAbs(header.Linkname) || reached == ".." || strings.HasPrefix(reached, "../") {
			return fmt.Errorf("the link to %q leaves the tree", header.Linkname)
		}
		return root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		return root.Link(filepath.FromSlash(path.Clean(header.Linkname)), name)
	case tar.TypeReg:
		return unpackFile(content, header, root, name)
	default:
		return fmt.Errorf("tar type %q is not taken", header.Typeflag)
	}
}

func unpackFile(content io.Reader, header *tar.Header, root *os.Root, name string) error {
	mode := fs.FileMode(0o644)
	if header.Mode&0o100 != 0 {
		mode = 0o755
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	// The umask may have removed bits from the mode, and another user runs these files.
	return errors.Join(err, out.Chmod(mode), out.Close())
}
