package tfbinary

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
)

// script writes an executable that reports itself as Terraform of the given
// version, and counts its runs.
func script(t *testing.T, dir, name, version string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	content := "#!/bin/sh\necho asked >>'" + path + ".count'\n" +
		fmt.Sprintf("echo '{\"terraform_version\": %q}'\n", version)
	testprogram.Write(t, path, content)
	return path
}

func env(pairs ...string) (environ []string) {
	for pair := range slices.Chunk(pairs, 2) {
		environ = append(environ, pair[0]+"="+pair[1])
	}
	return environ
}

// emptySite returns the address of a release site without any release.
func emptySite(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestFind(t *testing.T) {
	bin := t.TempDir()
	onPath := script(t, bin, "terraform", "1.11.4")
	tofu := script(t, bin, "tofu", "1.12.6")
	broken := filepath.Join(bin, "broken")
	testprogram.Write(t, broken, "#!/bin/sh\necho nonsense\n")
	nowhere := emptySite(t)
	tests := map[string]struct {
		version string
		product Product
		env     []string
		path    string
		wrong   string
		said    string
	}{
		"on PATH": {version: "1.11.4", path: onPath},
		"other version": {version: "1.11.5",
			wrong: "version 1.11.5 is asked for, " + onPath + " is version 1.11.4, and it cannot be fetched"},
		"nothing on PATH": {version: "1.11.5", env: []string{"PATH", t.TempDir()},
			wrong: "none is on PATH, and it cannot be fetched"},
		"named by name": {version: "1.11.4", env: []string{EnvExecutable, "tofu"}, path: tofu,
			said: "which is version 1.12.6; the component asks for 1.11.4"},
		"named by path": {version: "1.12.6", env: []string{EnvExecutable, tofu}, path: tofu},
		"named, missing": {version: "1.11.4", env: []string{EnvExecutable, "opentofu"},
			wrong: EnvExecutable + " names opentofu"},
		"named, broken":    {version: "1.11.4", env: []string{EnvExecutable, broken}, wrong: "does not say its version"},
		"OpenTofu on PATH": {version: "1.12.6", product: OpenTofu, path: tofu},
		"OpenTofu, other version": {version: "1.11.4", product: OpenTofu, path: tofu,
			said: tofu + " is OpenTofu 1.12.6; the component asks for 1.11.4"},
		"no OpenTofu on PATH": {version: "1.11.4", product: OpenTofu, env: []string{"PATH", t.TempDir()},
			wrong: "install OpenTofu on the runner's PATH as tofu"},
		"OpenTofu by path": {version: "1.11.4", product: OpenTofu, env: []string{EnvExecutable, tofu, "PATH", t.TempDir()},
			path: tofu},
		"range":           {version: ">= 1.0", wrong: "is not an exact version"},
		"path as version": {version: "../../bin", wrong: "is not an exact version"},
		"config missing":  {version: "1.11.4", env: []string{EnvConfig, "/nowhere/rc"}, wrong: EnvConfig},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			found, err := Find(context.Background(), Options{
				Root: t.TempDir(), Version: test.version, Product: test.product,
				Environ: env(append(test.env, "PATH", bin+":/usr/bin:/bin", EnvReleases, nowhere)...),
				Logf:    func(format string, args ...any) { fmt.Fprintf(&said, format, args...) },
			})
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Fatalf("got %v\nwant %s", err, test.wrong)
				}
				return
			}
			if err != nil || found.Path != test.path {
				t.Fatalf("got %s, %v, want %s", found.Path, err, test.path)
			}
			if !strings.Contains(said.String(), test.said) {
				t.Fatalf("said %q", said.String())
			}
		})
	}
}

// TestABusyExecutable checks that an executable that is still open for writing is started
// again after it was closed.
func TestABusyExecutable(t *testing.T) {
	bin := t.TempDir()
	path := script(t, bin, "terraform", "1.11.4")
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	//walltime: how long the file is busy; the program under test waits a hundred times longer
	defer time.AfterFunc(200*time.Millisecond, func() { _ = writer.Close() }).Stop()
	found, err := Find(t.Context(),
		Options{Root: t.TempDir(), Version: "1.11.4",
			Environ: env("PATH", bin+":/usr/bin:/bin", EnvReleases, emptySite(t))})
	if err != nil || found.Path != path {
		t.Fatal(found.Path, err)
	}
	if count, _ := os.ReadFile(path + ".count"); strings.Count(string(count), "asked") != 1 {
		t.Fatalf("asked %q", count)
	}
}

// TestFetchOfWhatDoesNotRun checks the error for a downloaded executable that does not run.
func TestFetchOfWhatDoesNotRun(t *testing.T) {
	site := newMirror(t, "1.2.3", false)
	root := t.TempDir()
	options := Options{Root: root, Version: "1.2.3", Environ: env("PATH", "/usr/bin:/bin", EnvReleases, site.url),
		publicKey: site.publicKey}
	kept := filepath.Join(root, "tools/terraform/1.2.3")
	testprogram.Write(t, filepath.Join(kept, "terraform"), "#!/nowhere\n")
	if _, err := Find(t.Context(), options); !errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), "remove "+kept) {
		t.Fatal(err)
	}
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), options); err != nil {
		t.Fatal(err)
	}
}

func TestVersionIsAskedOnce(t *testing.T) {
	bin, root := t.TempDir(), t.TempDir()
	path := script(t, bin, "terraform", "1.11.4")
	nowhere := emptySite(t)
	find := func(version string) error {
		_, err := Find(context.Background(),
			Options{Root: root, Version: version, Environ: env("PATH", bin, EnvReleases, nowhere)})
		return err
	}
	for range 3 {
		if err := find("1.11.4"); err != nil {
			t.Fatal(err)
		}
	}
	if count, _ := os.ReadFile(path + ".count"); strings.Count(string(count), "asked") != 1 {
		t.Fatalf("asked %q", count)
	}
	script(t, bin, "terraform", "1.12.10")
	if err := find("1.11.4"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("the executable was replaced, but: %v", err)
	}
}

func TestEnvironIsClean(t *testing.T) {
	root := t.TempDir()
	bin := t.TempDir()
	script(t, bin, "terraform", "1.11.4")
	found, err := Find(context.Background(),
		Options{Root: root, Version: "1.11.4",
			Environ: env("PATH", bin, "HOME", "/home/x", "SECRET", "planted", "TF_LOG", "TRACE", "TF_CLI_ARGS_apply",
				"-auto-approve", "AWS_PROFILE", "prod", jobenv.VarPassEnv, "VENDOR_API", "VENDOR_API", "named")})
	if err != nil {
		t.Fatal(err)
	}
	got := found.Environ(map[string]string{"AWS_REGION": "eu-1", "CHECKPOINT_DISABLE": "", "TF_CLI_CONFIG_FILE": "/evil"})
	if got["AWS_PROFILE"] != "prod" || got["VENDOR_API"] != "named" || got["TF_CLI_ARGS_apply"] != "" ||
		got[jobenv.VarPassEnv] != "" {
		t.Fatal(got)
	}
	if got["SECRET"] != "" || got["TF_LOG"] != "" || got["CHECKPOINT_DISABLE"] != "1" ||
		got["AWS_REGION"] != "eu-1" || got["HOME"] != "/home/x" {
		t.Fatal(got)
	}
	if got["TF_CLI_CONFIG_FILE"] != filepath.Join(root, "tools", "terraform.rc") || got["TF_PLUGIN_CACHE_DIR"] == "" {
		t.Fatal(got)
	}
	own := filepath.Join(root, "rc")
	if err := os.WriteFile(own, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	found, err = Find(context.Background(),
		Options{Root: root, Version: "1.11.4", Environ: env("PATH", bin, EnvConfig, own)})
	if err != nil || found.Environ(nil)["TF_CLI_CONFIG_FILE"] != own || found.PluginCache() != "" {
		t.Fatal(found, err)
	}
}

// mirror is a release site with one version of Terraform, which is a script.
type mirror struct {
	url, publicKey string
	downloads      int
}

func newMirror(t *testing.T, version string, tamper bool) *mirror {
	t.Helper()
	entity, err := openpgp.NewEntity("releases", "", "releases@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	made := &mirror{}
	var key bytes.Buffer
	armored, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err == nil {
		err = entity.Serialize(armored)
	}
	if err == nil {
		err = armored.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	made.publicKey = key.String()

	var archive bytes.Buffer
	packed := zip.NewWriter(&archive)
	header := &zip.FileHeader{Name: "terraform", Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := packed.CreateHeader(header)
	if err == nil {
		_, err = fmt.Fprintf(entry, "#!/bin/sh\necho '{\"terraform_version\": %q}'\n", version)
	}
	if err == nil {
		err = packed.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf("terraform_%s_%s_%s.zip", version, runtime.GOOS, runtime.GOARCH)
	sums := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.Bytes()), file)
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, entity, strings.NewReader(sums), nil); err != nil {
		t.Fatal(err)
	}
	content := archive.Bytes()
	if tamper {
		content = append(bytes.Clone(content), 0)
	}
	base := "/terraform/" + version + "/"
	sumsName := "terraform_" + version + "_SHA256SUMS"
	index, err := json.Marshal(map[string]any{
		"name": "terraform", "version": version, "shasums": sumsName, "shasums_signature": sumsName + ".sig",
		"builds": []any{map[string]string{"name": "terraform", "version": version, "os": runtime.GOOS, "arch": runtime.GOARCH,
			"filename": file, "url": base + file}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][]byte{
		base + "index.json": index, base + sumsName: []byte(sums), base + sumsName + ".sig": signature.Bytes(),
		base + file: content,
	}
	var mutex sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		switch {
		case strings.HasSuffix(r.URL.Path, ".json"):
			w.Header().Set("Content-Type", "application/json")
		case strings.HasSuffix(r.URL.Path, ".zip"):
			w.Header().Set("Content-Type", "application/zip")
			mutex.Lock()
			made.downloads++
			mutex.Unlock()
		}
		_, _ = w.Write(page)
	}))
	t.Cleanup(server.Close)
	made.url = server.URL
	return made
}

func TestFetch(t *testing.T) {
	site := newMirror(t, "1.2.3", false)
	root := t.TempDir()
	options := Options{Root: root, Version: "1.2.3", Environ: env("PATH", "/usr/bin:/bin", EnvReleases, site.url),
		publicKey: site.publicKey}
	var jobs sync.WaitGroup
	for range 4 {
		jobs.Go(func() {
			found, err := Find(context.Background(), options)
			if err != nil || found.Path != filepath.Join(root, "tools/terraform/1.2.3/terraform") {
				t.Errorf("got %s, %v", found.Path, err)
			}
		})
	}
	jobs.Wait()
	if site.downloads != 1 {
		t.Fatalf("downloaded %d times by four jobs at once", site.downloads)
	}
	left, err := os.ReadDir(filepath.Join(root, "tools/terraform"))
	if err != nil || len(left) != 2 { // the version and the lock
		t.Fatal(left, err)
	}
}

func TestFetchTrustsNobody(t *testing.T) {
	tests := map[string]struct {
		tamper  bool
		another bool
	}{
		"archive was changed": {tamper: true},
		"signed by another":   {another: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			site := newMirror(t, "1.2.3", test.tamper)
			options := Options{Root: t.TempDir(), Version: "1.2.3",
				Environ: env("PATH", "/usr/bin:/bin", EnvReleases, site.url), publicKey: site.publicKey}
			if test.another {
				options.publicKey = newMirror(t, "1.2.3", false).publicKey
			}
			_, err := Find(context.Background(), options)
			if !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
			if isExecutable(filepath.Join(options.Root, "tools/terraform/1.2.3/terraform")) {
				t.Fatal("it was kept")
			}
		})
	}
}
