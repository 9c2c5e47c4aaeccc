package main

import (
	"archive/zip"
	"bytes"
	"crypto/md5"  //nolint:gosec // an attribute of the local and archive providers
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// createLocalFile really writes the file.
func createLocalFile(f *filler) error {
	content := []byte(firstText(asText(f.top["content"]), asText(f.top["sensitive_content"])))
	if encoded := asText(f.top["content_base64"]); encoded != "" {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return err
		}
		content = decoded
	}
	if source := asText(f.top["source"]); source != "" {
		read, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		content = read
	}
	name := asText(f.top["filename"])
	usual := "0777"
	if f.typ == "local_sensitive_file" {
		usual = "0700"
	}
	if err := os.MkdirAll(filepath.Dir(name), permission(f.top["directory_permission"], usual)); err != nil {
		return err
	}
	if err := os.WriteFile(name, content, permission(f.top["file_permission"], usual)); err != nil {
		return err
	}
	f.setDigests("content_", "content_sha1", content)
	return f.setID(asText(f.top["content_sha1"]))
}

func permission(x any, usual string) fs.FileMode {
	mode, err := strconv.ParseUint(firstText(asText(x), usual), 8, 32)
	if err != nil {
		return 0o700
	}
	return fs.FileMode(mode)
}

// setDigests sets the digests of a content that the schema has.
func (f *filler) setDigests(prefix, sha1Name string, content []byte) {
	sums := map[string]string{}
	long, longer := sha256.Sum256(content), sha512.Sum512(content)
	old, older := sha1.Sum(content), md5.Sum(content) //nolint:gosec // as above
	sums[sha1Name], sums[prefix+"md5"] = hex.EncodeToString(old[:]), hex.EncodeToString(older[:])
	sums[prefix+"sha256"], sums[prefix+"sha512"] = hex.EncodeToString(long[:]), hex.EncodeToString(longer[:])
	sums[prefix+"base64sha256"] = base64.StdEncoding.EncodeToString(long[:])
	sums[prefix+"base64sha512"] = base64.StdEncoding.EncodeToString(longer[:])
	for name, sum := range sums {
		if f.schema.Attributes[name] != nil {
			f.top[name] = sum
		}
	}
}

// hasLocalFile reports whether the file still has the content that was written.
func hasLocalFile(state object) bool {
	content, err := os.ReadFile(asText(state["filename"]))
	sum := sha1.Sum(content) //nolint:gosec // as above
	return err == nil && hex.EncodeToString(sum[:]) == asText(state["id"])
}

func removeLocalFile(state object) error {
	if err := os.Remove(asText(state["filename"])); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readLocalFile answers the data sources local_file and local_sensitive_file.
func readLocalFile(f *filler) error {
	content, err := os.ReadFile(asText(f.top["filename"]))
	if err != nil {
		return err
	}
	f.setDigests("content_", "content_sha1", content)
	f.top["content"], f.top["content_base64"] = string(content), base64.StdEncoding.EncodeToString(content)
	return f.setID(asText(f.top["content_sha1"]))
}

// writeArchive really writes the archive, with times that do not change.
func writeArchive(f *filler) error {
	if typ := asText(f.top["type"]); typ != "zip" {
		return fmt.Errorf("archive type %q is not supported: must be zip", typ)
	}
	files, err := f.archived()
	if err != nil {
		return err
	}
	var made bytes.Buffer
	archive := zip.NewWriter(&made)
	for _, name := range sortedKeys(files) {
		w, err := archive.Create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(files[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	path := asText(f.top["output_path"])
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, made.Bytes(), 0o644); err != nil {
		return err
	}
	f.setDigests("output_", "output_sha", made.Bytes())
	f.top["output_size"] = asNumber(made.Len())
	return f.setID(asText(f.top["output_sha"]))
}

// archived returns the files of an archive.
func (f *filler) archived() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, source := range items(f.top["source"], "set") {
		files[asText(source["filename"])] = []byte(asText(source["content"]))
	}
	if name := asText(f.top["source_content_filename"]); name != "" {
		files[name] = []byte(asText(f.top["source_content"]))
	}
	if name := asText(f.top["source_file"]); name != "" {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[filepath.Base(name)] = content
	}
	dir := asText(f.top["source_dir"])
	if dir == "" {
		return files, nil
	}
	excluded := asTexts(f.top["excludes"])
	return files, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		isExcluded := func(pattern string) bool {
			matches, _ := filepath.Match(pattern, relative)
			return matches || pattern == filepath.Dir(relative)
		}
		if slices.ContainsFunc(excluded, isExcluded) {
			return nil
		}
		files[filepath.ToSlash(relative)], err = os.ReadFile(path)
		return err
	})
}
