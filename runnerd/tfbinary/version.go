package tfbinary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/execretry"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// versionTimeout is how long an executable may take to print its version once it has
// started. It only ends a hang.
const versionTimeout = 2 * time.Minute

// versionGrace is how long it may take to end after an interrupt.
const versionGrace = time.Second

// cachedVersion caches the version that an executable reported. It is valid while the file
// is unchanged, and saves one process start per job.
type cachedVersion struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Version  string    `json:"version"`
	Product  Product   `json:"product,omitempty"`
}

// Product is the program that an executable is.
type Product string

// The products, by the names that they print.
const (
	Terraform Product = "Terraform"
	OpenTofu  Product = "OpenTofu"
)

// readVersion returns the version of an executable.
func (t Tool) readVersion(ctx context.Context, path string) (string, error) {
	now, note, err := t.cached(path)
	if err != nil || now.Version != "" {
		return now.Version, err
	}
	if now.Version, err = t.askVersion(ctx, path); err != nil {
		return "", err
	}
	now.save(note)
	return now.Version, nil
}

// Product returns the program that the executable is, from the first line that "version" prints.
func (t Tool) Product(ctx context.Context) (Product, error) {
	now, note, err := t.cached(t.Path)
	if err != nil || now.Product != "" {
		return now.Product, err
	}
	printed, err := t.run(ctx, t.Path, "version")
	if err != nil {
		return "", err
	}
	for _, product := range []Product{Terraform, OpenTofu} {
		if strings.HasPrefix(string(printed), string(product)+" v") {
			now.Version, now.Product = t.Version, product
			now.save(note)
			return product, nil
		}
	}
	return "", fmt.Errorf("%s is neither Terraform nor OpenTofu, by what it prints for \"version\"; name one of them "+
		"in %s", t.Path, EnvExecutable)
}

// cached returns what is known about an executable, and the file in which that is stored.
func (t Tool) cached(path string) (known cachedVersion, note string, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return known, "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return known, "", err
	}
	now := cachedVersion{Path: real, Size: info.Size(), Modified: info.ModTime().UTC()}
	note = filepath.Join(t.root, "tools", "known", strings.TrimPrefix(sha256digest.Of([]byte(real)), "sha256:")+".json")
	if content, err := os.ReadFile(note); err == nil {
		if json.Unmarshal(content, &known) == nil && known.Path == now.Path && known.Size == now.Size &&
			known.Modified.Equal(now.Modified) {
			return known, note, nil
		}
	}
	return now, note, nil
}

// save stores what is known. It is only a shortcut: a failed write costs time and nothing else.
func (c cachedVersion) save(note string) {
	if content, err := json.Marshal(c); err == nil {
		_ = writeFile(note, content)
	}
}

// run runs an executable, which may just have been written, and returns what it prints.
func (t Tool) run(ctx context.Context, path string, args ...string) ([]byte, error) {
	var out, wrong bytes.Buffer
	err := execretry.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, versionTimeout)
		defer cancel()
		out.Reset()
		wrong.Reset()
		asking := subprocess.Program{
			Path: path, Args: append([]string{path}, args...), Dir: "/", Stdout: &out, Stderr: &wrong,
			Name: path, Group: true, Grace: versionGrace, Warn: func(string, ...any) {},
		}
		for key, value := range t.Environ(nil) {
			asking.Env = append(asking.Env, key+"="+value)
		}
		return asking.Run(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("%s version: %w: %.200s", path, err, strings.TrimSpace(wrong.String()))
	}
	return out.Bytes(), nil
}

// writeFile replaces a file as a whole, so that a reader never sees half of it.
func writeFile(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	beside, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(beside.Name()) }()
	_, err = beside.Write(content)
	if closed := beside.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(beside.Name(), name)
}
