// Package runnerprogram serves the program of runners by digest, so that a machine in a customer's account can start
// with exactly the program that its stack names. It asks nobody who they are: the program is no secret.
package runnerprogram

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// Program is a program of runners. Its zero value serves nothing.
type Program struct {
	sha256 string
	file   *os.File
	size   int64
	slots  chan struct{}
}

// maxDownloads bounds the downloads at once of one replica.
const maxDownloads = 16

// Open returns the program in a file. A file that is replaced later does not change what is served.
func Open(path string) (*Program, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--runner-program: %w", err)
	}
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("--runner-program: %w", err)
	}
	return &Program{sha256: hex.EncodeToString(sum.Sum(nil)), file: file, size: size,
		slots: make(chan struct{}, maxDownloads)}, nil
}

// path is where the program is served, below the address of the runner API.
const path = "/runnerd/"

// Route is the route of ServeHTTP.
const Route = "GET " + path + "{sha256}"

// Runner returns how machines get the program and reach the runner API.
func (p *Program) Runner(api string) installstack.Runner {
	api = strings.TrimSuffix(api, "/")
	if p.file == nil {
		return installstack.Runner{URL: api}
	}
	return installstack.Runner{URL: api, DownloadURL: api + path + p.sha256, SHA256: p.sha256}
}

// ServeHTTP serves the program to a request that names its digest.
func (p *Program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.file == nil || r.PathValue("sha256") != p.sha256 {
		http.NotFound(w, r)
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many downloads at once; try again", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("ETag", `"`+p.sha256+`"`)
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(p.file, 0, p.size))
}

// Close ends the use of the file.
func (p *Program) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}
