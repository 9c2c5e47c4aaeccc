package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// unpack unpacks a packed chart: the files below its single directory. It trusts
// nothing: it accepts only files, only inside that directory, within the session's
// budgets. name is the archive in errors.
func (s *session) unpack(name string, content []byte) ([]artifact.File, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s is no packed chart (a .tgz); make it with `helm package`", quote(name))
	}
	limit := netguard.NewBudget(s.unpacked+int64(s.files)*1024, errBomb).Limit(compressed)
	archive := tar.NewReader(limit)
	var files []artifact.File
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", quote(name), damagedError(err))
		}
		file, is, err := s.unpackEntry(archive, entry)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", quote(name), err)
		}
		if is {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no files; make it with `helm package`", quote(name))
	}
	if err := artifact.CheckTree(files, artifact.Limits{}); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", quote(name), err)
	}
	return sorted(files), nil
}

// unpackEntry reads one entry; it returns false for an entry without a file.
func (s *session) unpackEntry(archive io.Reader, entry *tar.Header) (artifact.File, bool, error) {
	if s.files--; s.files < 0 {
		return artifact.File{}, false, fmt.Errorf("the chart and all that it needs have more than %d files", maxFiles)
	}
	switch entry.Typeflag {
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return artifact.File{}, false, nil
	case tar.TypeReg:
	default:
		return artifact.File{}, false, fmt.Errorf("%s is a link or a device; a chart holds files only", quote(entry.Name))
	}
	name, err := withinChart(entry.Name)
	if err != nil {
		return artifact.File{}, false, err
	}
	content, err := io.ReadAll(io.LimitReader(archive, min(s.unpacked, maxFile)+1))
	if err != nil {
		return artifact.File{}, false, damagedError(err)
	}
	if len(content) > maxFile {
		return artifact.File{}, false, fmt.Errorf("%s has more than %d bytes", quote(entry.Name), maxFile)
	}
	if s.unpacked -= int64(len(content)); s.unpacked < 0 {
		return artifact.File{}, false, errBomb
	}
	return artifact.File{Path: name, Content: bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF"))}, true, nil
}

// withinChart returns the path of an entry below the chart's directory.
func withinChart(name string) (string, error) {
	trimmed := strings.TrimPrefix(name, "./")
	_, below, found := strings.Cut(trimmed, "/")
	if !found || path.IsAbs(name) || strings.ContainsAny(name, "\\\x00") || path.Clean(trimmed) != trimmed ||
		strings.HasPrefix(trimmed, "../") {
		return "", fmt.Errorf("%s is no path inside the chart's directory", quote(name))
	}
	return below, nil
}

var errBomb = fmt.Errorf("the chart and all that it needs unpack to more than %d bytes", maxUnpacked)

func damagedError(err error) error {
	if errors.Is(err, errBomb) {
		return err
	}
	return fmt.Errorf("it is damaged: %s; create it again with `helm package`", clean(err.Error()))
}
