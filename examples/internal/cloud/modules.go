package cloud

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// registry serves modules by the module registry protocol.
type registry struct {
	dir      string // NAMESPACE/NAME/SYSTEM/VERSION/ below it
	listener net.Listener
	server   *http.Server
	ended    chan error
}

func serveModules(dir string) (*registry, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the module registry: %w", err)
	}
	r := &registry{dir: dir, listener: listener, ended: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/modules/{namespace}/{name}/{system}/versions", r.listVersions)
	mux.HandleFunc("GET /v1/modules/{namespace}/{name}/{system}/{version}/download", r.locate)
	mux.HandleFunc("GET /packages/{namespace}/{name}/{system}/{package}", r.download)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { r.ended <- r.server.Serve(listener) }()
	return r, nil
}

func (r *registry) services() string { return "http://" + r.listener.Addr().String() + "/v1/modules/" }

func (r *registry) close() error {
	err := r.server.Close()
	if ended := <-r.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// path returns the path of a module, or of one of its versions. It refuses names that lead elsewhere.
func (r *registry) path(request *http.Request, version ...string) (string, bool) {
	parts := append([]string{request.PathValue("namespace"), request.PathValue("name"), request.PathValue("system")},
		version...)
	for _, part := range parts {
		if part == "" || part[0] == '.' || strings.ContainsAny(part, `/\`) {
			return "", false
		}
	}
	return filepath.Join(append([]string{r.dir}, parts...)...), true
}

func (r *registry) listVersions(w http.ResponseWriter, request *http.Request) {
	dir, ok := r.path(request)
	entries, err := os.ReadDir(dir)
	if !ok || err != nil {
		http.NotFound(w, request)
		return
	}
	versions := []map[string]string{}
	for _, entry := range entries {
		versions = append(versions, map[string]string{"version": entry.Name()})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"modules": []any{map[string]any{"versions": versions}}})
}

func (r *registry) locate(w http.ResponseWriter, request *http.Request) {
	dir, ok := r.path(request, request.PathValue("version"))
	if _, err := os.Stat(dir); !ok || err != nil {
		http.NotFound(w, request)
		return
	}
	w.Header().Set("X-Terraform-Get", fmt.Sprintf("/packages/%s/%s/%s/%s.tar.gz", request.PathValue("namespace"),
		request.PathValue("name"), request.PathValue("system"), request.PathValue("version")))
	w.WriteHeader(http.StatusNoContent)
}

func (r *registry) download(w http.ResponseWriter, request *http.Request) {
	dir, ok := r.path(request, strings.TrimSuffix(request.PathValue("package"), ".tar.gz"))
	if _, err := os.Stat(dir); !ok || err != nil {
		http.NotFound(w, request)
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	if err := errors.Join(pack(archive, dir, ""), archive.Close(), compressed.Close()); err != nil {
		panic(http.ErrAbortHandler) // the client sees that the archive is incomplete
	}
}

// pack adds the files below a directory. It follows links: some modules share files by them.
func pack(archive *tar.Writer, dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path, name := filepath.Join(dir, entry.Name()), prefix+entry.Name()
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		switch {
		case info.IsDir():
			err = pack(archive, path, name+"/")
		case info.Mode().IsRegular():
			err = packFile(archive, path, name, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func packFile(archive *tar.Writer, path, name string, info fs.FileInfo) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}
