package pgcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// fetchBase is the directory of Maven Central with the builds of the project
	// zonkyio/embedded-postgres-binaries, which are small relocatable PostgreSQL servers.
	fetchBase = "https://repo1.maven.org/maven2/io/zonky/test/postgres"
	// fetchVersion is the version of the build; its first number is the major version.
	fetchVersion = "17.6.0"
	fetchMajor   = 17

	// maxJarBytes bounds the download; a jar has about 15 MB.
	maxJarBytes = 128 << 20
	// fetchTimeout bounds a whole fetch.
	fetchTimeout = 10 * time.Minute
)

// Fetch downloads PostgreSQL binaries into a cache, once. The zero value downloads from Maven
// Central into the user's cache directory.
type Fetch struct {
	// Base replaces the URL of the directory, for a mirror and for tests.
	Base string
	// Cache is the cache directory; empty means nuon/postgres below the user's cache directory or,
	// for root, /var/cache/nuon/postgres, because root's own cache is not accessible to the
	// server's user.
	Cache string
	// Client makes the requests; nil means http.DefaultClient.
	Client *http.Client
	// Progress, if set, receives a sentence about what is being downloaded.
	Progress func(string)

	platform string // replaces the machine's platform in tests
}

// get returns the cached binaries, and downloads them first if necessary. A major other than zero
// must be the available version.
func (f Fetch) get(ctx context.Context, major int) (Binaries, error) {
	if major != 0 && major != fetchMajor {
		return Binaries{}, fmt.Errorf("only PostgreSQL %d can be fetched", fetchMajor)
	}
	platform, err := f.platformName()
	if err != nil {
		return Binaries{}, err
	}
	cache, err := f.cacheDir()
	if err != nil {
		return Binaries{}, err
	}
	final := filepath.Join(cache, fetchVersion+"-"+platform)
	bin := filepath.Join(final, "bin")
	if _, err := os.Stat(final); errors.Is(err, fs.ErrNotExist) {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		if err := f.install(ctx, platform, cache, final); err != nil {
			return Binaries{}, fmt.Errorf("fetch PostgreSQL %s: %w", fetchVersion, err)
		}
	}
	return Search{Major: major}.inspect(ctx, bin, "fetched")
}

func (f Fetch) platformName() (string, error) {
	if f.platform != "" {
		return f.platform, nil
	}
	arch, known := map[string]string{"amd64": "amd64", "arm64": "arm64v8"}[runtime.GOARCH]
	if !known || runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return "", fmt.Errorf("there are no PostgreSQL binaries to fetch for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	platform := runtime.GOOS + "-" + arch
	if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 {
		platform += "-alpine"
	}
	return platform, nil
}

func (f Fetch) cacheDir() (string, error) {
	if f.Cache != "" {
		return filepath.Abs(f.Cache)
	}
	if os.Geteuid() == 0 {
		return "/var/cache/nuon/postgres", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place to keep them: %w", err)
	}
	return filepath.Join(cache, "nuon", "postgres"), nil
}

// install downloads, verifies, unpacks and tests the binaries under a temporary name, and renames
// them if they work. If two processes do so at the same time, one of the results remains.
func (f Fetch) install(ctx context.Context, platform, cache, final string) (err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	tempDir, err := os.MkdirTemp(cache, ".fetch-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tempDir)) }()
	jar := filepath.Join(tempDir, "binaries.jar")
	if err := f.download(ctx, f.address(platform), jar); err != nil {
		return err
	}
	tree := filepath.Join(tempDir, "tree")
	if err := unpackJar(jar, tree); err != nil {
		return err
	}
	// The server's user may differ from the current user.
	if err := os.Chmod(tempDir, 0o755); err != nil {
		return err
	}
	if _, err := (Search{}).inspect(ctx, filepath.Join(tree, "bin"), "fetched"); err != nil {
		return fmt.Errorf("what was fetched does not run here: %w", err)
	}
	if err := os.Rename(tree, final); err != nil {
		if _, statErr := os.Stat(final); statErr == nil {
			return nil
		}
		return err
	}
	return nil
}

// address returns the URL of the jar in the layout of a Maven repository.
func (f Fetch) address(platform string) string {
	base := strings.TrimSuffix(f.Base, "/")
	if base == "" {
		base = fetchBase
	}
	name := "embedded-postgres-binaries-" + platform
	return base + "/" + name + "/" + fetchVersion + "/" + name + "-" + fetchVersion + ".jar"
}

// download writes the file at address to file, and verifies the digest that is published next to
// it.
func (f Fetch) download(ctx context.Context, address, file string) error {
	published, err := f.publishedDigest(ctx, address+".sha256")
	if err != nil {
		return err
	}
	if f.Progress != nil {
		f.Progress(fmt.Sprintf("fetching PostgreSQL %s from %s", fetchVersion, address))
	}
	body, err := f.request(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	written, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(body, maxJarBytes+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("download %s: %w", address, err)
	}
	if written > maxJarBytes {
		return fmt.Errorf("download %s: it has more than %d bytes", address, int64(maxJarBytes))
	}
	if digest := hex.EncodeToString(sum.Sum(nil)); digest != published {
		return fmt.Errorf("download %s: its SHA-256 is %s, but %s was published; nothing of it was used",
			address, digest, published)
	}
	return nil
}

// publishedDigest reads a .sha256 file: 64 hexadecimal digits, optionally followed by a name.
func (f Fetch) publishedDigest(ctx context.Context, address string) (string, error) {
	body, err := f.request(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, 1024))
	if err != nil {
		return "", fmt.Errorf("download %s: %w", address, err)
	}
	fields := strings.Fields(string(content))
	if len(fields) == 0 {
		return "", fmt.Errorf("download %s: it is empty", address)
	}
	if digest, err := hex.DecodeString(fields[0]); err != nil || len(digest) != sha256.Size {
		return "", fmt.Errorf("download %s: %.80q is no SHA-256", address, content)
	}
	return strings.ToLower(fields[0]), nil
}

func (f Fetch) request(ctx context.Context, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", address, err)
	}
	request.Header.Set("User-Agent", "nuon")
	client := f.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		// The error of net/http already contains the URL.
		return nil, fmt.Errorf("download: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("download %s: the server says %s", address,
			response.Status), response.Body.Close())
	}
	return response.Body, nil
}

// CanFetch reports whether binaries for this machine can be downloaded.
func CanFetch() bool {
	_, err := Fetch{}.platformName()
	return err == nil
}
