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

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/execretry"
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
}

// readVersion returns the version of an executable.
func (t Tool) readVersion(ctx context.Context, path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	now := cachedVersion{Path: real, Size: info.Size(), Modified: info.ModTime().UTC()}
	note := filepath.Join(t.root, "tools", "known", strings.TrimPrefix(artifact.Digest([]byte(real)), "sha256:")+".json")
	if content, err := os.ReadFile(note); err == nil {
		var before cachedVersion
		if json.Unmarshal(content, &before) == nil && before.Path == now.Path && before.Size == now.Size &&
			before.Modified.Equal(now.Modified) && before.Version != "" {
			return before.Version, nil
		}
	}
	if now.Version, err = t.run(ctx, path); err != nil {
		return "", err
	}
	if content, err := json.Marshal(now); err == nil {
		// The cache is only a shortcut: a failed write costs time and nothing else.
		_ = writeFile(note, content)
	}
	return now.Version, nil
}

// run runs an executable, which may just have been written, to get its version.
func (t Tool) run(ctx context.Context, path string) (string, error) {
	var out, wrong bytes.Buffer
	err := execretry.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, versionTimeout)
		defer cancel()
		out.Reset()
		wrong.Reset()
		asking := subprocess.Program{
			Path: path, Args: []string{path, "version", "-json"}, Dir: "/", Stdout: &out, Stderr: &wrong,
			Name: path, Group: true, Grace: versionGrace, Warn: func(string, ...any) {},
		}
		for key, value := range t.Environ(nil) {
			asking.Env = append(asking.Env, key+"="+value)
		}
		return asking.Run(ctx)
	})
	if err != nil {
		return "", fmt.Errorf("%s version: %w: %.200s", path, err, strings.TrimSpace(wrong.String()))
	}
	var said struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil || said.Version == "" {
		return "", fmt.Errorf("%s does not say its version as Terraform does", path)
	}
	return said.Version, nil
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
