package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// chartRepository is a chart repository on this machine: an index and archives over HTTP.
type chartRepository struct {
	mu    sync.Mutex
	files map[string][]byte
	index string
}

// publish packs a chart and adds it to the story's chart repository, which it starts if necessary:
// publish DIRECTORY. CHARTS is the address of the repository.
func (s *teller) publish(ts *testscript.TestScript, _ bool, args []string) {
	if s.charts == nil {
		s.charts = &chartRepository{files: map[string][]byte{}, index: "apiVersion: v1\nentries:\n"}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		server := &http.Server{Handler: s.charts} //nolint:gosec // it serves this story alone
		go func() { _ = server.Serve(listener) }()
		ts.Defer(func() { _ = server.Shutdown(context.Background()) })
		ts.Setenv("CHARTS", "http://"+listener.Addr().String())
	}
	name, err := s.charts.add(os.DirFS(ts.MkAbs(args[0])))
	ts.Check(err)
	fmt.Fprintf(s.loud, "\n\033[36m$ helm package %s\033[0m   \033[2m(and into the chart repository: %s)\033[0m\n",
		args[0], name)
}

// chartField matches name and version in a Chart.yaml.
var chartField = regexp.MustCompile(`(?m)^(name|version): (\S+)$`)

// add packs a chart and returns the archive's name. All charts of a repository must have the same
// name.
func (c *chartRepository) add(chart fs.FS) (string, error) {
	about, err := fs.ReadFile(chart, "Chart.yaml")
	if err != nil {
		return "", err
	}
	fields := map[string]string{}
	for _, found := range chartField.FindAllStringSubmatch(string(about), -1) {
		fields[found[1]] = found[2]
	}
	packed, err := packChart(fields["name"], chart)
	if err != nil {
		return "", err
	}
	name := fields["name"] + "-" + fields["version"] + ".tgz"
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := "  " + fields["name"] + ":\n"; !strings.Contains(c.index, entry) {
		c.index += entry
	}
	c.index += fmt.Sprintf("  - {apiVersion: v2, name: %s, version: %s, digest: %x, urls: [%s]}\n", fields["name"],
		fields["version"], sha256.Sum256(packed), name)
	c.files["/"+name], c.files["/index.yaml"] = packed, []byte(c.index)
	return name, nil
}

func packChart(name string, chart fs.FS) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	err := fs.WalkDir(chart, ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := fs.ReadFile(chart, file)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: path.Join(name, filepath.ToSlash(file)), Typeflag: tar.TypeReg,
			Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	err = errors.Join(err, archive.Close(), compressed.Close())
	return out.Bytes(), err
}

// ServeHTTP serves the index and the archives.
func (c *chartRepository) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	content, there := c.files[r.URL.Path]
	c.mu.Unlock()
	if !there {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}
