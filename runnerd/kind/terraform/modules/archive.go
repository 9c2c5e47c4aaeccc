package modules

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"crypto/md5"  //nolint:gosec // a form of checksum in sources
	"crypto/sha1" //nolint:gosec // a form of checksum in sources
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// maxWindow bounds the memory that an archive makes a decompressor use, in bytes.
const maxWindow = 64 << 20

// unpacker reads the files of one archive within limits.
type unpacker struct {
	limits Limits
	files  []artifact.File
	index  map[string]int // of files, by path
	seen   int            // entries, including directories
	bytes  int64
}

// unpack returns the files of an archive. The result passes artifact.CheckTree.
func unpack(format string, archive *os.File, size int64, limits Limits) ([]artifact.File, error) {
	u := &unpacker{limits: limits, index: map[string]int{}}
	var err error
	if format == "zip" {
		err = u.zip(archive, size)
	} else {
		err = u.tar(format, archive)
	}
	if err == nil {
		err = checkFiles(u.files, limits)
	}
	if err != nil {
		return nil, err
	}
	if len(u.files) == 0 {
		return nil, problemf("check what the address leads to", "the archive has no files")
	}
	return u.files, nil
}

// checkFiles checks a package against the rules for trees.
func checkFiles(files []artifact.File, limits Limits) error {
	err := artifact.CheckTree(files, limits.tree())
	switch {
	case errors.Is(err, artifact.ErrTooLarge):
		return problemf("call a module of a smaller package", "the package is %s", oneLine(err.Error()))
	case err != nil:
		return problemf("fix the package, links must stay inside it", "the package is an %s", oneLine(err.Error()))
	}
	return nil
}

func (u *unpacker) tar(format string, from io.Reader) error {
	plain, err := decompress(format, from)
	if err != nil {
		return malformedArchive(format, err)
	}
	// Each entry has a header and padding, and may have long names.
	most := u.limits.Bytes + int64(u.limits.Files+1)*4096
	archive := tar.NewReader(netguard.NewBudget(most, u.tooLarge()).Limit(io.NopCloser(plain)))
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return malformedArchive(format, err)
		}
		switch entry.Typeflag {
		case tar.TypeXGlobalHeader:
			continue // git archive writes the commit there
		case tar.TypeDir:
			err = u.count()
		case tar.TypeReg:
			err = u.add(entry.Name, fs.FileMode(entry.Mode)&0o100 != 0, archive) //nolint:gosec // only a bit of it is used
		case tar.TypeSymlink:
			err = u.link(entry.Name, entry.Linkname)
		case tar.TypeLink:
			err = u.hardLink(entry.Name, entry.Linkname)
		default:
			err = problemf("remove it from the archive", "%s is neither a file, a directory nor a link",
				diagnostic.Quote(entry.Name))
		}
		if err != nil {
			return malformedArchive(format, err)
		}
	}
}

// decompress returns a reader of the tar archive in a compressed one.
func decompress(format string, from io.Reader) (io.Reader, error) {
	switch format {
	case "tar.gz":
		return gzip.NewReader(from)
	case "tar.bz2":
		return bzip2.NewReader(from), nil
	case "tar.xz":
		return newXZReader(from)
	case "tar.zst":
		found, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return found, nil
	}
	return from, nil
}

// malformedArchive describes an error of a decompressor; problems stay as they are.
func malformedArchive(format string, err error) error {
	var known *problem
	if errors.As(err, &known) {
		return known
	}
	return problemf("check what the address leads to", "it is not a complete %s archive: %s", format,
		oneLine(err.Error()))
}

func (u *unpacker) zip(from io.ReaderAt, size int64) error {
	if err := u.countZip(from, size); err != nil {
		return err
	}
	archive, err := zip.NewReader(from, size)
	if err != nil {
		return malformedArchive("zip", err)
	}
	for _, entry := range archive.File {
		if err := u.zipEntry(entry); err != nil {
			return malformedArchive("zip", err)
		}
	}
	return nil
}

// countZip bounds the entries that zip.NewReader reads into memory: it counts the signatures of
// directory headers in the file, some of which may be content.
func (u *unpacker) countZip(from io.ReaderAt, size int64) error {
	signature := []byte("PK\x01\x02")
	buffer := make([]byte, 1<<20)
	seen := 0
	for at := int64(0); at < size; at += int64(len(buffer) - len(signature) + 1) {
		n, err := from.ReadAt(buffer, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read a download: %w", err)
		}
		if seen += bytes.Count(buffer[:n], signature); seen > 4*u.limits.Files {
			return problemf("call a module of a smaller package", "the package has more than %d files", u.limits.Files)
		}
	}
	return nil
}

func (u *unpacker) zipEntry(entry *zip.File) (err error) {
	mode := entry.Mode()
	if mode.IsDir() {
		return u.count()
	}
	if mode.Type() != 0 && mode.Type() != fs.ModeSymlink {
		return problemf("remove it from the archive", "%s is neither a file, a directory nor a link",
			diagnostic.Quote(entry.Name))
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if mode.Type() == fs.ModeSymlink {
		target, err := io.ReadAll(io.LimitReader(content, 4096))
		if err != nil {
			return err
		}
		return u.link(entry.Name, string(target))
	}
	return u.add(entry.Name, mode&0o100 != 0, content)
}

func (u *unpacker) count() error {
	if u.seen++; u.seen > 2*u.limits.Files || len(u.files) >= u.limits.Files {
		return problemf("call a module of a smaller package", "the package has more than %d files", u.limits.Files)
	}
	return nil
}

func (u *unpacker) tooLarge() error {
	return problemf("call a module of a smaller package", "the package unpacks to more than %d bytes", u.limits.Bytes)
}

// entryPath returns the clean path of an entry.
func entryPath(name string) (string, error) {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || clean == "." || strings.ContainsAny(name, "\\\x00") {
		return "", problemf("fix the archive", "%s is no path inside the package", diagnostic.Quote(name))
	}
	for step := range strings.SplitSeq(name, "/") {
		if step == ".." {
			return "", problemf("fix the archive", "%s is no path inside the package", diagnostic.Quote(name))
		}
	}
	return clean, nil
}

func (u *unpacker) add(name string, executable bool, content io.Reader) error {
	if err := u.count(); err != nil {
		return err
	}
	clean, err := entryPath(name)
	if err != nil {
		return err
	}
	// The size in the header is not trusted: the actual bytes are counted.
	data, err := io.ReadAll(io.LimitReader(content, min(u.limits.FileBytes, u.limits.Bytes-u.bytes)+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > u.limits.FileBytes {
		return problemf("remove it from the package", "%s has more than %d bytes", diagnostic.Quote(name),
			u.limits.FileBytes)
	}
	if u.bytes += int64(len(data)); u.bytes > u.limits.Bytes {
		return u.tooLarge()
	}
	return u.put(artifact.File{Path: clean, Executable: executable, Content: data})
}

func (u *unpacker) put(file artifact.File) error {
	if _, taken := u.index[file.Path]; taken {
		return problemf("fix the archive", "%s is in the archive twice", diagnostic.Quote(file.Path))
	}
	u.index[file.Path] = len(u.files)
	u.files = append(u.files, file)
	return nil
}

func (u *unpacker) link(name, target string) error {
	if err := u.count(); err != nil {
		return err
	}
	clean, err := entryPath(name)
	if err != nil {
		return err
	}
	return u.put(artifact.File{Path: clean, Link: cleanTarget(target)})
}

// hardLink adds a copy of an earlier entry.
func (u *unpacker) hardLink(name, target string) error {
	clean, err := entryPath(target)
	if err != nil {
		return err
	}
	at, is := u.index[clean]
	if !is || u.files[at].Link != "" {
		return problemf("fix the archive", "%s is a link to %s, which is no file before it", diagnostic.Quote(name),
			diagnostic.Quote(target))
	}
	return u.add(name, u.files[at].Executable, bytes.NewReader(u.files[at].Content))
}

// checkSum checks the bytes of an archive against the checksum= of its source.
func checkSum(archive io.ReadSeeker, wanted string) error {
	if wanted == "" {
		return nil
	}
	kind, sum, named := strings.Cut(wanted, ":")
	if !named {
		kind, sum = "", wanted
	}
	var hasher hash.Hash
	switch {
	case kind == "sha256" || kind == "" && len(sum) == 64:
		hasher = sha256.New()
	case kind == "sha512" || kind == "" && len(sum) == 128:
		hasher = sha512.New()
	case kind == "sha1" || kind == "" && len(sum) == 40:
		hasher = sha1.New() //nolint:gosec // the author chose it
	case kind == "md5" || kind == "" && len(sum) == 32:
		hasher = md5.New() //nolint:gosec // the author chose it
	default:
		return problemf("write checksum=sha256: and its digits", "the checksum in the source cannot be read")
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read a download: %w", err)
	}
	if _, err := io.Copy(hasher, archive); err != nil {
		return fmt.Errorf("read a download: %w", err)
	}
	if got := hex.EncodeToString(hasher.Sum(nil)); !strings.EqualFold(got, sum) {
		return problemf("find out why the archive changed, or correct the checksum",
			"the archive has checksum %s, the source requires %s", got, oneLine(sum))
	}
	_, err := archive.Seek(0, io.SeekStart)
	return err
}
