package catalog_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"testing"
)

// linkOut is an archive whose metadata.toml is a symbolic link out of it.
func linkOut(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	written := tar.NewWriter(compressed)
	err := written.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "metadata.toml", Linkname: "/etc/passwd", Mode: 0o777})
	if err := errors.Join(err, written.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
