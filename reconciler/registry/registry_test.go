package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

type rig struct {
	dir    string
	host   string
	signer Signer
	now    time.Time

	registry *Registry
}

// start serves a registry over dir, with the rig's clock.
func start(t *testing.T, dir string) *rig {
	t.Helper()
	made := &rig{dir: dir, signer: newSigner(t, serverKey), now: time.Now()}
	opened, err := New(Options{Dir: dir, Signer: made.signer, Now: func() time.Time { return made.now }})
	if err != nil {
		t.Fatal(err)
	}
	made.registry = opened
	server := httptest.NewServer(opened)
	t.Cleanup(func() {
		server.Close()
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	made.host = strings.TrimPrefix(server.URL, "http://")
	return made
}

func (r *rig) token(prefix string, actions ...string) string {
	return r.signer.Issue(prefix, actions, r.now.Add(time.Hour))
}

func (r *rig) open(t *testing.T, repository string, credential oci.Credential) *oci.Repository {
	t.Helper()
	opened, err := oci.Open(artifact.Reference{Host: r.host, Repository: repository, PlainHTTP: true}, credential)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func module(t *testing.T, content string) artifact.Artifact {
	t.Helper()
	files := []artifact.File{{Path: "main.tf", Content: []byte(content)},
		{Path: "run.sh", Executable: true, Content: []byte("#!/bin/sh\n")}}
	packed, err := artifact.Pack(artifact.MediaTerraform, files,
		map[string]string{artifact.AnnotationKind: "terraform_module"}, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func TestPushAndPull(t *testing.T) {
	r := start(t, t.TempDir())
	token := r.token("dev/vendor", ActionPull, ActionPush)
	packed := module(t, "# one\n")
	for name, credential := range map[string]oci.Credential{
		"basic":  oci.Basic("anyone", token),
		"bearer": oci.Bearer(token),
	} {
		t.Run(name, func(t *testing.T) {
			repository := r.open(t, "dev/vendor/hello/"+name, credential)
			if there, err := repository.Has(t.Context(), packed.Digest()); there || err != nil {
				t.Fatalf("before the push: %v, %v", there, err)
			}
			for range 2 {
				digest, err := repository.Push(t.Context(), packed)
				if err != nil || digest != packed.Digest() {
					t.Fatalf("push gives %s, %v; want %s", digest, err, packed.Digest())
				}
			}
			if there, err := repository.Has(t.Context(), packed.Digest()); !there || err != nil {
				t.Fatalf("after the push: %v, %v", there, err)
			}
			back, err := repository.Pull(t.Context(), packed.Digest())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(packed, back); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSealedAndEmptyArtifacts(t *testing.T) {
	r := start(t, t.TempDir())
	repository := r.open(t, "dev/install/one", oci.Bearer(r.token("dev/install", ActionPull, ActionPush)))
	for name, packed := range map[string]artifact.Artifact{
		"sealed": artifact.Wrap(artifact.MediaPlan, []byte(`{"key_id":"key-1","ciphertext":"AAAA"}`), nil),
		"empty":  artifact.Wrap(artifact.MediaPlan, nil, nil),
	} {
		digest, err := repository.Push(t.Context(), packed)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		back, err := repository.Pull(t.Context(), digest)
		if err != nil || string(back.Layer) != string(packed.Layer) || back.Form != artifact.FormSealed {
			t.Errorf("%s came back as %q %s: %v", name, back.Layer, back.Form, err)
		}
	}
}

func TestKeptOverRestart(t *testing.T) {
	dir := t.TempDir()
	packed := module(t, "# kept\n")
	first := start(t, dir)
	if _, err := first.open(t, "dev/vendor/a", oci.Bearer(first.token("dev", ActionPull, ActionPush))).Push(
		t.Context(), packed); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir)
	// The first registry's token is valid at the second one: tokens are not stored.
	repository := second.open(t, "dev/vendor/a", oci.Bearer(first.token("dev", ActionPull)))
	if _, err := repository.Pull(t.Context(), packed.Digest()); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	r := start(t, t.TempDir())
	packed := module(t, "# x\n")
	full := r.token("dev/vendor", ActionPull, ActionPush)
	if _, err := r.open(t, "dev/vendor/a", oci.Bearer(full)).Push(t.Context(), packed); err != nil {
		t.Fatal(err)
	}
	expired := r.signer.Issue("dev/vendor", []string{ActionPull, ActionPush}, r.now.Add(-time.Second))
	tests := map[string]struct {
		repository string
		credential oci.Credential
		pull, push oci.Reason
	}{
		"no credential":  {"dev/vendor/a", oci.Credential{}, oci.Unauthorized, oci.Unauthorized},
		"wrong token":    {"dev/vendor/a", oci.Bearer(full + "0"), oci.Unauthorized, oci.Unauthorized},
		"wrong password": {"dev/vendor/a", oci.Basic("u", "hello"), oci.Unauthorized, oci.Unauthorized},
		"expired":        {"dev/vendor/a", oci.Bearer(expired), oci.Unauthorized, oci.Unauthorized},
		"another prefix": {"dev/install/a", oci.Bearer(full), oci.Forbidden, oci.Forbidden},
		"a longer name":  {"dev/vendors", oci.Bearer(full), oci.Forbidden, oci.Forbidden},
		"pull token": {"dev/vendor/b", oci.Bearer(r.token("dev/vendor", ActionPull)), oci.NotFound,
			oci.Forbidden},
		"nothing of these": {"dev/vendor/c", oci.Bearer(full), oci.NotFound, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			repository := r.open(t, test.repository, test.credential)
			var refusal *oci.Error
			_, err := repository.Pull(t.Context(), packed.Digest())
			if !errors.As(err, &refusal) || refusal.Reason != test.pull {
				t.Errorf("pull gives %v, want %s", err, test.pull)
			}
			_, err = repository.Push(t.Context(), packed)
			if test.push == "" {
				if err != nil {
					t.Errorf("push gives %v", err)
				}
				return
			}
			if !errors.As(err, &refusal) || refusal.Reason != test.push {
				t.Errorf("push gives %v, want %s", err, test.push)
			}
		})
	}
}

// request sends raw HTTP, for requests that a proper client never sends.
func (r *rig) request(t *testing.T, method, path, token string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.SetBasicAuth("u", token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func TestWhatTokensAllow(t *testing.T) {
	r := start(t, t.TempDir())
	packed := module(t, "# door\n")
	full := r.token("dev/vendor", ActionPull, ActionPush)
	for _, repository := range []string{"dev/vendor/a", "dev/install/a"} {
		prefix := strings.TrimSuffix(repository, "/a")
		if _, err := r.open(t, repository, oci.Bearer(r.token(prefix, ActionPull, ActionPush))).Push(t.Context(),
			packed); err != nil {
			t.Fatal(err)
		}
	}
	layer := sha256digest.Of(packed.Layer)
	tests := map[string]struct {
		method, path, token string
		want                int
	}{
		"base without token": {"GET", "/v2/", "", 401},
		"base with token":    {"GET", "/v2/", full, 200},
		"catalog":            {"GET", "/v2/_catalog", full, 403},
		"delete manifest":    {"DELETE", "/v2/dev/vendor/a/manifests/" + packed.Digest(), full, 403},
		"delete blob":        {"DELETE", "/v2/dev/vendor/a/blobs/" + layer, full, 403},
		"mount from elsewhere": {"POST", "/v2/dev/vendor/b/blobs/uploads/?mount=" + layer + "&from=dev/install/a", full,
			403},
		"mount from own": {"POST", "/v2/dev/vendor/b/blobs/uploads/?mount=" + layer + "&from=dev/vendor/a", full,
			201},
		"blob of another's":       {"GET", "/v2/dev/install/a/blobs/" + layer, full, 403},
		"dots in the name":        {"GET", "/v2/dev/vendor/../install/a/blobs/" + layer, full, 403},
		"encoded dots":            {"GET", "/v2/dev/vendor/%2e%2e/install/a/blobs/" + layer, full, 403},
		"outside of the protocol": {"GET", "/debug/pprof/", full, 404},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer, body := r.request(t, test.method, test.path, test.token)
			if answer.StatusCode != test.want {
				t.Errorf("status %d, want %d: %s", answer.StatusCode, test.want, body)
			}
			if test.want == 401 && answer.Header.Get("WWW-Authenticate") != `Basic realm="nuon registry"` {
				t.Errorf("challenge is %q", answer.Header.Get("WWW-Authenticate"))
			}
			if test.want == 403 && (!strings.Contains(body, "DENIED") || answer.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("a denial says %q, challenge %q", body, answer.Header.Get("WWW-Authenticate"))
			}
		})
	}
	if _, err := r.open(t, "dev/vendor/a", oci.Bearer(full)).Pull(t.Context(), packed.Digest()); err != nil {
		t.Errorf("after the refused deletes: %v", err)
	}
}

// TestSweep deletes an artifact, and checks that its blobs are freed and those of others are not.
func TestSweep(t *testing.T) {
	r := start(t, t.TempDir())
	all := oci.Bearer(r.token("dev", ActionPull, ActionPush, ActionDelete))
	one, two := module(t, "# one\n"), module(t, "# two\n")
	unused := artifact.Blob{Digest: sha256digest.Of([]byte("unused")), Size: 6}
	repository := r.open(t, "dev/vendor/a", all)
	for _, packed := range []artifact.Artifact{one, two} {
		if _, err := repository.Push(t.Context(), packed); err != nil {
			t.Fatal(err)
		}
	}
	if err := repository.PutBlob(t.Context(), unused, strings.NewReader("unused")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is none
		if err := repository.Delete(t.Context(), one.Digest()); err != nil {
			t.Fatal(err)
		}
	}
	r.age(t)
	left, err := repository.HasBlob(t.Context(), unused) // which makes it new again
	if !left || err != nil {
		t.Fatalf("%v, %v", left, err)
	}
	freed, err := r.registry.Sweep(t.Context())
	manifest, _ := one.Manifest()
	if want := int64(len(one.Layer) + len(manifest)); err != nil || freed != want {
		t.Errorf("it freed %d bytes and not %d: %v", freed, want, err)
	}
	if _, err := repository.Pull(t.Context(), two.Digest()); err != nil {
		t.Errorf("an artifact that was not deleted: %v", err)
	}
	layer := artifact.Blob{Digest: sha256digest.Of(one.Layer), Size: int64(len(one.Layer))}
	if left, err := repository.HasBlob(t.Context(), layer); left || err != nil {
		t.Errorf("the blob of the deleted artifact: %v, %v", left, err)
	}
	if left, err := repository.HasBlob(t.Context(), unused); !left || err != nil {
		t.Errorf("a blob that a client asked for: %v, %v", left, err)
	}
	if _, err := repository.Push(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if _, err := repository.Pull(t.Context(), one.Digest()); err != nil {
		t.Errorf("after it was pushed again: %v", err)
	}
	r.age(t)
	if freed, err := r.registry.Sweep(t.Context()); freed != unused.Size || err != nil {
		t.Errorf("a day later it freed %d bytes: %v", freed, err)
	}
}

// age makes all files of the registry two days old.
func (r *rig) age(t *testing.T) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	if err := filepath.WalkDir(r.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	}); err != nil {
		t.Fatal(err)
	}
}

// TestPushesBesideASweep pushes and deletes artifacts while a sweep deletes every blob that no manifest names, however
// new. A push fails or stores everything.
func TestPushesBesideASweep(t *testing.T) {
	r := start(t, t.TempDir())
	repository := r.open(t, "dev/vendor/a", oci.Bearer(r.token("dev", ActionPull, ActionPush, ActionDelete)))
	pushed := 0
	for n := range 40 {
		swept := make(chan error, 1)
		go func() { // sweeps once
			_, err := r.registry.sweep(t.Context(), time.Now().Add(time.Hour))
			swept <- err
		}()
		packed := module(t, fmt.Sprintf("# %d\n", n%3))
		_, err := repository.Push(t.Context(), packed)
		if err := <-swept; err != nil {
			t.Fatal(err)
		}
		if err != nil {
			continue // the sweep was between its requests
		}
		pushed++
		if _, err := repository.Pull(t.Context(), packed.Digest()); err != nil {
			t.Fatalf("push %d: %v", n, err)
		}
		if err := repository.Delete(t.Context(), packed.Digest()); err != nil {
			t.Fatal(err)
		}
	}
	if pushed == 0 {
		t.Error("no push succeeded")
	}
}

func TestTamperedOnDisk(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir)
	packed := module(t, strings.Repeat("# tamper with this\n", 50))
	repository := r.open(t, "dev/vendor/a", oci.Bearer(r.token("dev", ActionPull, ActionPush)))
	if _, err := repository.Push(t.Context(), packed); err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{sha256digest.Of(packed.Layer), packed.Digest()} {
		var blob string
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if strings.HasSuffix(path, strings.TrimPrefix(digest, "sha256:")+"/data") {
				blob = path
			}
			return err
		})
		if err != nil || blob == "" {
			t.Fatalf("the blob %s was not found: %v", digest, err)
		}
		content, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(blob, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = repository.Pull(t.Context(), packed.Digest())
		var refusal *oci.Error
		if !errors.As(err, &refusal) || refusal.Reason != oci.Damaged {
			t.Fatalf("with %s tampered with, the pull gives %v, want %s", digest, err, oci.Damaged)
		}
	}
}

func TestAnOversizedUploadIsCut(t *testing.T) {
	signer := newSigner(t, serverKey)
	opened, err := New(Options{Dir: t.TempDir(), Signer: signer, MaxUploadBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(opened)
	t.Cleanup(server.Close)
	r := &rig{host: strings.TrimPrefix(server.URL, "http://"), signer: signer, now: time.Now()}
	repository := r.open(t, "dev/a", oci.Bearer(r.token("dev", ActionPull, ActionPush)))
	if _, err := repository.Push(t.Context(), artifact.Wrap(artifact.MediaPlan, make([]byte, 4096), nil)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := repository.Push(t.Context(), artifact.Wrap(artifact.MediaPlan, make([]byte, 8192), nil)); err == nil {
		t.Error("twice the limit was taken")
	}
}

// TestNoBodyIsReadWithoutAToken checks that the body of a stranger's request is not read, in no form.
func TestNoBodyIsReadWithoutAToken(t *testing.T) {
	t.Parallel()
	opened, err := New(Options{Dir: t.TempDir(), Signer: newSigner(t, serverKey)})
	if err != nil {
		t.Fatal(err)
	}
	const part = "--x\r\nContent-Disposition: form-data; name=from\r\n\r\ndev/b\r\n--x--\r\n"
	for _, form := range []string{"", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		for method, path := range map[string]string{"POST": "blobs/uploads/", "PUT": "manifests/latest"} {
			body := &counted{from: strings.NewReader(part)}
			request := httptest.NewRequestWithContext(t.Context(), method, "/v2/dev/a/"+path, body)
			request.Header.Set("Content-Type", form)
			answer := httptest.NewRecorder()
			opened.ServeHTTP(answer, request)
			if answer.Code != http.StatusUnauthorized || body.read != 0 {
				t.Errorf("%s of %q: status %d, and %d bytes were read", method, form, answer.Code, body.read)
			}
		}
	}
}

// counted counts the bytes that were read.
type counted struct {
	from io.Reader
	read int
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.from.Read(into)
	c.read += n
	return n, err
}

// TestALargeLayer: a layer of an image may have more than 512 MiB.
func TestALargeLayer(t *testing.T) {
	const size = 513 << 20
	r := start(t, t.TempDir())
	repository := r.open(t, "dev/a", oci.Bearer(r.token("dev", ActionPull, ActionPush)))
	sum := sha256.New()
	if _, err := io.CopyN(sum, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	blob := artifact.Blob{Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), Size: size}
	if err := repository.PutBlob(t.Context(), blob, io.LimitReader(zeros{}, size)); err != nil {
		t.Fatal(err)
	}
	if found, err := repository.HasBlob(t.Context(), blob); err != nil || !found {
		t.Errorf("the layer is there: %v, %v", found, err)
	}
}

// zeros reads as zeros.
type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// TestAForeignClient copies with oras itself: clients need nothing of pkg/artifact.
func TestAForeignClient(t *testing.T) {
	r := start(t, t.TempDir())
	repository, err := remote.NewRepository(r.host + "/dev/vendor/foreign")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	repository.Client = &auth.Client{Credential: auth.StaticCredential(r.host,
		auth.Credential{Username: "u", Password: r.token("dev", ActionPull, ActionPush)})}
	store := memory.New()
	described, err := oras.PackManifest(t.Context(), store, oras.PackManifestVersion1_1, "application/x-test",
		oras.PackManifestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Tag(t.Context(), described, "v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := oras.Copy(t.Context(), store, "v1", repository, "v1", oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	back, err := oras.Copy(t.Context(), repository, "v1", memory.New(), "v1", oras.DefaultCopyOptions)
	if err != nil || back.Digest != described.Digest {
		t.Errorf("came back as %s: %v", back.Digest, err)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(Options{Dir: t.TempDir()}); err == nil {
		t.Error("a registry without a signer was opened")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: file, Signer: newSigner(t, serverKey)}); err == nil {
		t.Error("a file was taken for the data directory")
	}
}
