package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// packLevel is the compression level, which is part of the reproducible form. The bytes also depend
// on the compressor: TestDigestIsFixed pins a digest and fails when a new toolchain compresses
// differently.
const packLevel = 6

// tarOverhead bounds the bytes that a tar archive adds per entry (header, padding, long name) and
// for its end.
const tarOverhead = 4096

// Tarball packs files into one gzip-compressed tar archive whose bytes depend only on the files:
// entries are sorted by path, times are zero, the owner is 0:0 without names, modes are 0644, 0755,
// and 0777 for links, and the gzip header has no name and no time.
func Tarball(files []File, limits Limits) ([]byte, error) {
	if err := CheckTree(files, limits); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, packLevel)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	archive := tar.NewWriter(compressed)
	for _, file := range sorted(files) {
		if err := archive.WriteHeader(header(file)); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Path, err)
		}
		if _, err := archive.Write(file.Content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Path, err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out.Bytes(), nil
}

func header(file File) *tar.Header {
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     file.Path,
		Size:     int64(len(file.Content)),
		Mode:     0o644,
		ModTime:  time.Unix(0, 0),
	}
	switch {
	case file.Link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, file.Link, 0o777
	case file.Executable:
		h.Mode = 0o755
	}
	return h
}

// Untar reads a gzip-compressed tar archive into files, sorted by path. It also accepts archives
// from other programs and trusts none: it accepts only files, links and directories within the tree
// and within the limits. Errors wrap ErrUnsafe, ErrTooLarge or ErrDamaged.
func Untar(layer []byte, limits Limits) ([]File, error) {
	limits = limits.orDefault()
	compressed, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w: %w", ErrDamaged, err)
	}
	compressed.Multistream(false)
	limit := limits.TotalBytes + int64(limits.Files+1)*tarOverhead
	archive := tar.NewReader(&cappedReader{reader: compressed, remaining: limit})
	var files []File
	count := tally{limits: limits}
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, asDamaged(err)
		}
		if entry.Typeflag == tar.TypeDir {
			if _, err := count.remaining(entry.Name); err != nil {
				return nil, fmt.Errorf("unpack: %w", err)
			}
			continue
		}
		file, err := untarEntry(archive, entry, &count)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if err := CheckTree(files, limits); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return sorted(files), nil
}

func untarEntry(archive *tar.Reader, entry *tar.Header, count *tally) (File, error) {
	remaining, err := count.remaining(entry.Name)
	if err != nil {
		return File{}, fmt.Errorf("unpack: %w", err)
	}
	switch entry.Typeflag {
	case tar.TypeSymlink:
		if entry.Linkname == "" {
			return File{}, fmt.Errorf("unpack: %w: link %s has no target", ErrUnsafe, entry.Name)
		}
		return File{Path: entry.Name, Link: entry.Linkname}, nil
	case tar.TypeReg:
	default:
		return File{}, fmt.Errorf(
			"unpack: %w: %s is of tar type %q; only files, directories and symbolic links are taken",
			ErrUnsafe, entry.Name, entry.Typeflag)
	}
	// The size in the header is not trusted: the actual bytes are counted.
	content, err := io.ReadAll(io.LimitReader(archive, remaining+1))
	if err != nil {
		return File{}, asDamaged(err)
	}
	if err := count.add(entry.Name, int64(len(content))); err != nil {
		return File{}, fmt.Errorf("unpack: %w", err)
	}
	executable := fs.FileMode(entry.Mode)&0o100 != 0
	return File{Path: entry.Name, Executable: executable, Content: content}, nil
}

// asDamaged marks an error of the archive reader as ErrDamaged, unless it is ErrTooLarge from
// cappedReader.
func asDamaged(err error) error {
	if errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("unpack: %w", err)
	}
	return fmt.Errorf("unpack: %w: %w", ErrDamaged, err)
}

// cappedReader fails with ErrTooLarge, instead of returning end of file, when the archive is longer
// than any allowed tree: a small layer may unpack to terabytes.
type cappedReader struct {
	reader    io.Reader
	remaining int64
}

func (c *cappedReader) Read(into []byte) (int, error) {
	if c.remaining <= 0 {
		return 0, fmt.Errorf("%w: the archive unpacks to more than its limits allow", ErrTooLarge)
	}
	if int64(len(into)) > c.remaining {
		into = into[:c.remaining]
	}
	read, err := c.reader.Read(into)
	c.remaining -= int64(read)
	return read, err
}
