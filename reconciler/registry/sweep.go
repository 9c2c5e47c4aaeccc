package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// sweepAge is the least age of a blob that Sweep deletes: a client pushes the manifest after the blobs, which can take
// hours.
const sweepAge = 24 * time.Hour

// reliesOnBlobs reports whether a request is short, and a client concludes from its response that blobs exist.
// A push of a blob is long.
func reliesOnBlobs(request *http.Request) bool {
	switch request.Method {
	case http.MethodHead, http.MethodPost:
		return true
	case http.MethodPut:
		return strings.Contains(request.URL.Path, "/manifests/")
	}
	return false
}

// renew makes a blob new again when a client learned that it exists, so that Sweep leaves it while its
// manifest is pushed.
func (r *Registry) renew(method string, answer *response) {
	digest := answer.Header().Get("Docker-Content-Digest")
	if method == http.MethodGet || answer.status >= http.StatusMultipleChoices || sha256digest.Check(digest) != nil {
		return
	}
	now := time.Now()
	if err := os.Chtimes(r.blobFile(digest), now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.log.Warn("cannot renew a blob of the registry", "digest", digest, "error", err)
	}
}

// path returns a path in the layout of the distribution project.
func (r *Registry) path(below ...string) string {
	return filepath.Join(append([]string{r.dir, "docker", "registry", "v2"}, below...)...)
}

// blobFile returns the file of a blob.
func (r *Registry) blobFile(digest string) string {
	sum := strings.TrimPrefix(digest, "sha256:")
	return r.path("blobs", "sha256", sum[:2], sum, "data")
}

// Sweep deletes the blobs that no manifest names and that no client has used for a day. It returns how many bytes that
// freed. Requests are served meanwhile.
func (r *Registry) Sweep(ctx context.Context) (freed int64, err error) {
	return r.sweep(ctx, time.Now().Add(-sweepAge))
}

// sweep is Sweep with the time before which an unused blob was used last.
func (r *Registry) sweep(ctx context.Context, before time.Time) (freed int64, err error) {
	named, err := r.namedBlobs(ctx)
	if err == nil {
		freed, err = r.deleteBlobs(ctx, named, before)
	}
	if err == nil {
		err = r.deleteLinks(ctx, before)
	}
	if err != nil {
		return freed, fmt.Errorf("sweep the registry: %w", err)
	}
	return freed, nil
}

// walk calls visit for each file with a name below a directory, with the name of the directory that it is in.
func walk(ctx context.Context, below, name string, visit func(file, in string) error) error {
	err := filepath.WalkDir(below, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted by a request
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() && entry.Name() == "_uploads":
			return fs.SkipDir
		case entry.IsDir() || entry.Name() != name:
			return nil
		}
		return visit(file, filepath.Base(filepath.Dir(file)))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// namedBlobs returns the digests of the manifests of all repositories, and of what they name.
func (r *Registry) namedBlobs(ctx context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	revisions := filepath.Join("_manifests", "revisions", "sha256")
	err := walk(ctx, r.path("repositories"), "link", func(file, sum string) error {
		if !strings.HasSuffix(filepath.Dir(filepath.Dir(file)), revisions) || named["sha256:"+sum] {
			return nil
		}
		named["sha256:"+sum] = true
		content, err := os.ReadFile(r.blobFile("sha256:" + sum))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		digests, err := digestsIn(content)
		if err != nil {
			return fmt.Errorf("manifest sha256:%s: %w", sum, err)
		}
		for _, digest := range digests {
			named[digest] = true
		}
		return nil
	})
	return named, err
}

// digestsIn returns the digests that a manifest or an index names.
func digestsIn(content []byte) (digests []string, err error) {
	type descriptor struct {
		Digest string `json:"digest"`
	}
	var manifest struct {
		Config    descriptor   `json:"config"`
		Layers    []descriptor `json:"layers"`
		Manifests []descriptor `json:"manifests"`
		Blobs     []descriptor `json:"blobs"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return nil, err
	}
	all := append(append(append(manifest.Layers, manifest.Manifests...), manifest.Blobs...), manifest.Config)
	for _, named := range all {
		digests = append(digests, named.Digest)
	}
	return digests, nil
}

// deleteBlobs deletes the blobs that are not named and were not used after a time.
func (r *Registry) deleteBlobs(ctx context.Context, named map[string]bool, before time.Time) (freed int64, err error) {
	err = walk(ctx, r.path("blobs", "sha256"), "data", func(file, sum string) error {
		if named["sha256:"+sum] {
			return nil
		}
		// A request that holds the lock may rely on this blob. The next Sweep tries again.
		if !r.sweeping.TryLock() {
			return nil
		}
		defer r.sweeping.Unlock()
		info, err := os.Stat(file)
		if err != nil || !info.ModTime().Before(before) {
			return ignoreMissing(err)
		}
		if err := remove(file); err != nil {
			return err
		}
		freed += info.Size()
		return nil
	})
	return freed, err
}

// deleteLinks deletes what repositories have of blobs that do not exist.
func (r *Registry) deleteLinks(ctx context.Context, before time.Time) error {
	layers := filepath.Join("_layers", "sha256")
	return walk(ctx, r.path("repositories"), "link", func(file, sum string) error {
		if !strings.HasSuffix(filepath.Dir(filepath.Dir(file)), layers) {
			return nil
		}
		if _, err := os.Stat(r.blobFile("sha256:" + sum)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		info, err := os.Stat(file)
		if err != nil || !info.ModTime().Before(before) {
			return ignoreMissing(err)
		}
		return remove(file)
	})
}

// remove deletes a file, and its directory unless a request has just written another file into it.
func remove(file string) error {
	if err := ignoreMissing(os.Remove(file)); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(file))
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
