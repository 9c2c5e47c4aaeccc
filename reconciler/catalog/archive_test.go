package catalog_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"testing"
)

// linkOut returns an archive whose metadata.toml is a symbolic link to a path outside it.
func linkOut(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	written := tar.NewWriter(compressed)
	err := written.WriteHeader(&tar.Header{
		Typeflag: tar.TypeSymlink, Name: "metadata.toml", Linkname: "/etc/passwd", Mode: 0o777,
	})
	if err := errors.Join(err, written.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
