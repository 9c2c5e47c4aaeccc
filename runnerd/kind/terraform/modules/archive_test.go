package modules

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// packXZ compresses with one kind of check.
func packXZ(t *testing.T, content []byte, check byte) []byte {
	t.Helper()
	var out bytes.Buffer
	into, err := xz.WriterConfig{CheckSum: check, BlockSize: 1000}.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := into.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := into.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bzip2 of a tar archive with main.tf, as "tar cj" packs it: the standard library cannot.
const packedBzip2 = "QlpoOTFBWSZTWda13NwAAKv7gMqABABIAf+AAGD3J55ACAggAHQbVKNtTRAaGnojaho9qg2qQAANAAAPszWZJ1aMAHHxIFY1" +
	"vIwkQ2cURECExIYlz8O619LFSQlIggNNKWAdIk+XmlN2xux3GstvGIIt1qOq02k5x9yrcxEbe59IJ3WbrAQl/F3JFOFCQ1rX" +
	"c3A="

func TestFormats(t *testing.T) {
	t.Parallel()
	plain := registrytest.Tar(t, "main.tf", "# a module", "sub/x.tf", "", "l", "-> sub/x.tf")
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bzipped, err := base64.StdEncoding.DecodeString(packedBzip2)
	if err != nil {
		t.Fatal(err)
	}
	server := registrytest.New(t)
	zipped := registrytest.Zip(t, "main.tf", "# a module", "sub/x.tf", "", "l", "-> sub/x.tf")
	gzipped := registrytest.TarGz(t, "main.tf", "# a module", "sub/x.tf", "", "l", "-> sub/x.tf")
	sum := sha256.Sum256(zipped)
	for path, content := range map[string][]byte{
		"/x.tar": plain, "/x.tar.gz": gzipped, "/x.tgz": gzipped, "/x.zip": zipped, "/X.ZIP": zipped,
		"/x.tar.xz": packXZ(t, plain, xz.CRC64), "/x.txz": packXZ(t, plain, xz.CRC32), "/none.txz": packXZ(t, plain,
			xz.None),
		"/sha.tar.xz": packXZ(t, plain, xz.SHA256), "/x.tar.zst": encoder.EncodeAll(plain, nil), "/x.tbz2": bzipped,
		"/download": zipped,
	} {
		server.Content(path, content)
	}
	digest := ""
	for _, path := range []string{"/x.tar", "/x.tar.gz", "/x.tgz", "/x.zip", "/X.ZIP", "/x.tar.xz", "/x.txz",
		"/none.txz",
		"/sha.tar.xz", "/x.tar.zst", "/x.tbz2", "/download?archive=zip", "/download?archive=zip&version=1",
		"/x.zip?checksum=sha256:" + hex.EncodeToString(sum[:]), "/x.zip?checksum=" + hex.EncodeToString(sum[:])} {
		result := mustResolve(t, trusting(server), nil, "app/main.tf", calling("x", server.URL+path, ""))
		if got := content(t, result.Files, ".terraform/modules/x/main.tf"); got != "# a module" {
			t.Errorf("%s: %q", path, got)
		}
		if got := result.Resolution.Modules[0].Tree; digest == "" {
			digest = got
		} else if got != digest {
			t.Errorf("%s: tree %s, want %s", path, got, digest)
		}
	}
}

// TestXZ: damaged streams and blocks that need too much memory fail.
func TestXZ(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("a long text, ", 1000))
	packed := packXZ(t, text, xz.CRC64)
	read := func(packed []byte) ([]byte, error) {
		from, err := newXZReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(from)
	}
	if got, err := read(packed); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"nothing": func([]byte) []byte { return nil },
		"magic":   func(b []byte) []byte { b[0] = 0; return b },
		"check":   func(b []byte) []byte { b[7] = 7; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"header":  func(b []byte) []byte { b[14] ^= 1; return b },
		"content": func(b []byte) []byte { b[40] ^= 1; return b },
		"dictionary": func(b []byte) []byte {
			size := (int(b[12]) + 1) * 4
			b[16] = 40 // 4 GiB
			binary.LittleEndian.PutUint32(b[12+size-4:], crc32.ChecksumIEEE(b[12:12+size-4]))
			return b
		},
	} {
		got, err := read(change(bytes.Clone(packed)))
		if err == nil {
			t.Errorf("%s: read %d bytes", name, len(got))
		}
		if name == "dictionary" && !strings.Contains(err.Error(), "bytes of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHardLinks: archives that other programs make have them.
func TestHardLinks(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, header := range []*tar.Header{
		{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "x"}},
		{Typeflag: tar.TypeDir, Name: "./d/"}, {Typeflag: tar.TypeReg, Name: "./d/main.tf", Mode: 0o755},
		{Typeflag: tar.TypeLink, Name: "./copy.tf", Linkname: "./d/main.tf"},
	} {
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := unpackBytes(t, "tar", out.Bytes())
	if err != nil || paths(files) != "d/main.tf copy.tf" || !files[1].Executable {
		t.Errorf("%v, %v", files, err)
	}
	for _, typeflag := range []byte{tar.TypeFifo, tar.TypeChar, tar.TypeLink} {
		out.Reset()
		archive := tar.NewWriter(&out)
		if err := archive.WriteHeader(&tar.Header{Typeflag: typeflag, Name: "x", Linkname: "y"}); err != nil {
			t.Fatal(err)
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := unpackBytes(t, "tar", out.Bytes()); err == nil {
			t.Errorf("type %q was unpacked", typeflag)
		}
	}
}

func unpackBytes(t testing.TB, format string, content []byte) (files []artifact.File, err error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	return unpack(format, file, int64(len(content)), Limits{}.orDefault())
}

// TestNoArchiveBreaksUnpack: any bytes give files or an error.
func TestNoArchiveBreaksUnpack(t *testing.T) {
	t.Parallel()
	plain := registrytest.Tar(t, "main.tf", "# a module", "sub/x.tf", "", "l", "-> sub/x.tf")
	valid := map[string][]byte{"tar": plain, "tar.xz": packXZ(t, plain, xz.CRC32),
		"tar.gz": registrytest.TarGz(t, "main.tf", "# a module"), "zip": registrytest.Zip(t, "main.tf", "", "l",
			"-> main.tf")}
	rapid.Check(t, func(r *rapid.T) {
		format := rapid.SampledFrom([]string{"tar", "tar.xz", "tar.gz", "zip"}).Draw(r, "format")
		content := bytes.Clone(valid[format])
		for range rapid.IntRange(0, 4).Draw(r, "changes") {
			content[rapid.IntRange(0, len(content)-1).Draw(r, "at")] = rapid.Byte().Draw(r, "byte")
		}
		content = content[:rapid.IntRange(0, len(content)).Draw(r, "length")]
		files, err := unpackBytes(t, format, content)
		if (len(files) == 0) == (err == nil) {
			r.Fatalf("%d files, %v", len(files), err)
		}
	})
}
