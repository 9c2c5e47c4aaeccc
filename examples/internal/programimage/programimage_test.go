package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
)

// fakeProgram returns the start of a program for Linux, with one part of a type.
func fakeProgram(t *testing.T, machine elf.Machine, part elf.ProgType) []byte {
	t.Helper()
	var file bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: 64, Ehsize: 64,
		Phentsize: 56, Phnum: 1, Shentsize: 64}
	copy(header.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}))
	if err := errors.Join(binary.Write(&file, binary.LittleEndian, header),
		binary.Write(&file, binary.LittleEndian, elf.Prog64{Type: uint32(part)})); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// writePrograms writes programs for both platforms into a directory.
func writePrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, platform := range platforms {
		for _, p := range programs {
			content := append(fakeProgram(t, platform.machine, elf.PT_LOAD), p.name...)
			path := filepath.Join(dir, "linux-"+platform.architecture, p.name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o700)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// makeImages runs the command, and returns what it prints.
func makeImages(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// filesBelow returns the content of all files in a directory.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheSameProgramsMakeTheSameImages(t *testing.T) {
	dir, layouts := writePrograms(t), t.TempDir()
	one, two := filepath.Join(layouts, "one"), filepath.Join(layouts, "two")
	makeImages(t, "-programs", dir, "-version", "1.2.3", "-layout", one)
	makeImages(t, "-programs", dir, "-version", "1.2.3", "-layout", two)
	first := filesBelow(t, one)
	if diff := cmp.Diff(first, filesBelow(t, two)); diff != "" || len(first) == 0 {
		t.Errorf("%d files, and the second build has others:\n%.2000s", len(first), diff)
	}
	makeImages(t, "-programs", dir, "-version", "1.2.4", "-layout", two)
	if cmp.Equal(first, filesBelow(t, two)) {
		t.Error("another version made the same images")
	}
	makeImages(t, "-programs", dir, "-version", "1.2.3", "-layout", two)
	if diff := cmp.Diff(first, filesBelow(t, two)); diff != "" {
		t.Errorf("a layout that replaces another is not the same:\n%.2000s", diff)
	}
}

// document reads a document of an image.
func document[T any](t *testing.T, from content.Fetcher, descriptor ocispec.Descriptor) (read T) {
	t.Helper()
	text, err := content.FetchAll(t.Context(), from, descriptor)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestPushedImages(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := ocitest.Registry(t).Host
	layout := filepath.Join(t.TempDir(), "images")
	printed := makeImages(t, "-programs", writePrograms(t), "-version", "1.2.3", "-layout", layout,
		"-push", host+"/acme/nuon", "-plain-http")
	for _, p := range programs {
		name := host + "/acme/nuon/" + p.name
		repository, err := remote.NewRepository(name)
		if err != nil {
			t.Fatal(err)
		}
		repository.PlainHTTP = true
		pulled, err := oci.New(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		root, err := oras.Copy(t.Context(), repository, "1.2.3", pulled, "1.2.3", oras.DefaultCopyOptions)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{name + ":1.2.3@" + root.Digest.String(),
			"oci:" + filepath.Join(layout, p.name) + ":1.2.3@" + root.Digest.String()} {
			if !strings.Contains(printed, line+"\n") {
				t.Errorf("it does not print %s, but:\n%s", line, printed)
			}
		}
		index := document[ocispec.Index](t, pulled, root)
		if len(index.Manifests) != len(platforms) {
			t.Fatalf("the index has %d manifests", len(index.Manifests))
		}
		for number, manifest := range index.Manifests {
			checkImage(t, pulled, p, platforms[number].architecture, manifest)
		}
	}
}

// checkImage checks the image of one platform.
func checkImage(t *testing.T, from content.Fetcher, p program, architecture string, of ocispec.Descriptor) {
	t.Helper()
	manifest := document[ocispec.Manifest](t, from, of)
	config := document[ocispec.Image](t, from, manifest.Config)
	if of.Platform.Architecture != architecture || config.Architecture != architecture || config.OS != "linux" ||
		config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/local/bin/"+p.name ||
		config.Config.Labels[ocispec.AnnotationVersion] != "1.2.3" {
		t.Errorf("%s for %s: the config is %+v", p.name, architecture, config)
	}
	files := map[string]*tar.Header{}
	var authorities, binary []byte
	for number, layer := range manifest.Layers {
		packed, err := content.FetchAll(t.Context(), from, layer)
		if err != nil {
			t.Fatal(err)
		}
		plain := gunzip(t, packed)
		if godigest.FromBytes(plain) != config.RootFS.DiffIDs[number] {
			t.Errorf("layer %d is not what the config says", number)
		}
		archive := tar.NewReader(bytes.NewReader(plain))
		for header, err := archive.Next(); !errors.Is(err, io.EOF); header, err = archive.Next() {
			if err != nil {
				t.Fatal(err)
			}
			files[header.Name] = header
			content, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			switch header.Name {
			case "etc/ssl/certs/ca-certificates.crt":
				authorities = content
			case "usr/local/bin/" + p.name:
				binary = content
			}
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(authorities) || bytes.Count(authorities, []byte("BEGIN CERTIFICATE")) < 50 {
		t.Errorf("the image of %s has no certificates of authorities", p.name)
	}
	if !bytes.HasSuffix(binary, []byte(p.name)) || files["usr/local/bin/"+p.name].Mode != 0o755 {
		t.Errorf("the image of %s has no such program", p.name)
	}
	if files["tmp/"].Mode != 0o1777 || files["var/lib/nuon/"].Uid != userID {
		t.Errorf("directories of the image of %s: %+v, %+v", p.name, files["tmp/"], files["var/lib/nuon/"])
	}
}

func gunzip(t *testing.T, packed []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestProgramsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"another machine": {fakeProgram(t, elf.EM_AARCH64, elf.PT_LOAD), "linux/amd64: the program is for EM_AARCH64"},
		"not static":      {fakeProgram(t, elf.EM_X86_64, elf.PT_INTERP), "build it with CGO_ENABLED=0"},
		"a script":        {[]byte("#!/bin/sh\nexit 0\n"), "the program is not for Linux"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writePrograms(t)
			if err := os.WriteFile(filepath.Join(dir, "linux-amd64", "runnerd"), test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			err := run(context.Background(), []string{"-programs", dir, "-version", "1", "-layout", t.TempDir()}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "image of runnerd") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAnotherDirectoryIsNotReplaced(t *testing.T) {
	layout := t.TempDir()
	own := filepath.Join(layout, "runnerd", "notes.txt")
	if err := errors.Join(os.Mkdir(filepath.Dir(own), 0o700), os.WriteFile(own, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"-programs", writePrograms(t), "-version", "1", "-layout", layout}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "it is not replaced") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}
