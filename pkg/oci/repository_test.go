package oci

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// answering starts a registry that answers each request with handler.
func answering(t *testing.T, handler http.HandlerFunc) artifact.Reference {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return artifact.Reference{Host: strings.TrimPrefix(server.URL, "http://"), Repository: "dev/vendor/app",
		PlainHTTP: true}
}

func open(t *testing.T, reference artifact.Reference, credential Credential) *Repository {
	t.Helper()
	opened, err := Open(reference, credential)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func pack(t *testing.T) artifact.Artifact {
	t.Helper()
	files := []artifact.File{{Path: "main.tf", Content: []byte("output \"a\" { value = 1 }\n")}}
	packed, err := artifact.Pack(artifact.MediaSource, files, nil, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// serving serves one artifact, after edit has changed the bytes.
func serving(t *testing.T, packed artifact.Artifact, edit func(path string, content []byte) []byte) artifact.Reference {
	manifest, err := packed.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		content := packed.Layer
		if strings.Contains(r.URL.Path, "/manifests/") {
			content = manifest
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		}
		content = edit(r.URL.Path, content)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content)
	})
}

func TestPullChecksEveryByte(t *testing.T) {
	packed := pack(t)
	whole := serving(t, packed, func(_ string, content []byte) []byte { return content })
	got, err := open(t, whole, Credential{}).Pull(t.Context(), packed.Digest())
	if err != nil || got.Digest() != packed.Digest() {
		t.Fatalf("untouched: %s, %v", got.Digest(), err)
	}
	for _, part := range []string{"/manifests/", "/blobs/"} {
		tampered := serving(t, packed, func(path string, content []byte) []byte {
			if !strings.Contains(path, part) {
				return content
			}
			changed := append([]byte{}, content...)
			changed[len(changed)/2] ^= 1
			return changed
		})
		_, err := open(t, tampered, Credential{}).Pull(t.Context(), packed.Digest())
		if !errors.Is(err, artifact.ErrDamaged) || !strings.Contains(err.Error(), tampered.Host) {
			t.Errorf("tampered %s: %v, want ErrDamaged that names the registry", part, err)
		}
	}
}

func TestPullIsLimited(t *testing.T) {
	packed := pack(t)
	repository := open(t, serving(t, packed, func(_ string, content []byte) []byte { return content }), Credential{})
	repository.MaxBytes = int64(len(packed.Layer)) - 1
	if _, err := repository.Pull(t.Context(), packed.Digest()); !errors.Is(err, artifact.ErrTooLarge) {
		t.Errorf("pull above the limit: %v", err)
	}
	if _, err := repository.Push(t.Context(), packed); !errors.Is(err, artifact.ErrTooLarge) {
		t.Errorf("push above the limit: %v", err)
	}
	repository.MaxBytes++
	if _, err := repository.Pull(t.Context(), packed.Digest()); err != nil {
		t.Errorf("pull at the limit: %v", err)
	}
}

func TestRefusalsSayWhoAndWhatNext(t *testing.T) {
	status := func(code int, challenge string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			w.WriteHeader(code)
		}
	}
	tests := map[string]struct {
		handler    http.HandlerFunc
		credential Credential
		want       Reason
		hint       string
	}{
		"no credential":     {status(401, `Basic realm="r"`), Credential{}, Unauthorized, "user name and password"},
		"wrong password":    {status(401, `Basic realm="r"`), Basic("u", "p"), Unauthorized, "user name and password"},
		"wrong token":       {status(401, ""), Bearer("t"), Unauthorized, "token"},
		"forbidden":         {status(403, ""), Basic("u", "p"), Forbidden, "let the credential"},
		"not there":         {status(404, ""), Credential{}, NotFound, "check that it was pushed"},
		"something strange": {status(418, ""), Credential{}, Rejected, "registry's own log"},
	}
	packed := pack(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			repository := open(t, answering(t, test.handler), test.credential)
			_, err := repository.Pull(t.Context(), packed.Digest())
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Reason != test.want {
				t.Fatalf("pull gives %v, want %s", err, test.want)
			}
			for _, part := range []string{"pull", repository.Reference().Host, packed.Digest(), test.hint} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if test.want == NotFound {
				return
			}
			if _, err := repository.Push(t.Context(), packed); !errors.As(err, &refusal) ||
				refusal.Reason != test.want {
				t.Errorf("push gives %v, want %s", err, test.want)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	packed := pack(t)
	repository := open(t, artifact.Reference{Host: host, Repository: "a", PlainHTTP: true}, Basic("u", "p"))
	_, err = repository.Push(t.Context(), packed)
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Reason != Unreachable || !strings.Contains(err.Error(), host) {
		t.Errorf("error is %v, want unreachable %s", err, host)
	}
}

func TestBearerStaysWithItsHost(t *testing.T) {
	packed := pack(t)
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
		_, _ = w.Write(packed.Layer)
	}))
	t.Cleanup(other.Close)
	manifest, err := packed.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var here []string
	reference := answering(t, func(w http.ResponseWriter, r *http.Request) {
		here = append(here, r.Header.Get("Authorization"))
		if strings.Contains(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		_, _ = w.Write(manifest)
	})
	if _, err := open(t, reference, Bearer("attempt-token")).Pull(t.Context(), packed.Digest()); err != nil {
		t.Fatal(err)
	}
	if len(here) != 2 || here[0] != "Bearer attempt-token" || here[1] != "Bearer attempt-token" {
		t.Errorf("the registry saw %q, want the token at once both times", here)
	}
	if len(elsewhere) != 1 || elsewhere[0] != "" {
		t.Errorf("the other host saw %q, want no token", elsewhere)
	}
}

func TestPullRefusesForeignManifests(t *testing.T) {
	packed := pack(t)
	for name, foreign := range map[string]string{
		"not json":    `{`,
		"an index":    `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`,
		"no layer":    `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"x","layers":[]}`,
		"odd layer":   `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"x","layers":[{"mediaType":"x.zip","digest":"sha256:00","size":1}]}`,
		"sha512":      `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"x","layers":[{"mediaType":"x.tar+gzip","digest":"sha512:00","size":1}]}`,
		"huge number": `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"x","layers":[{"mediaType":"x.tar+gzip","digest":"` + sha256digest.Of(nil) + `","size":9000000000000}]}`,
	} {
		reference := serving(t, packed, func(string, []byte) []byte { return []byte(foreign) })
		if _, err := open(t, reference, Credential{}).Pull(t.Context(),
			sha256digest.Of([]byte(foreign))); !errors.Is(err, artifact.ErrDamaged) && !errors.Is(err, artifact.ErrTooLarge) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

func TestReferences(t *testing.T) {
	got, err := artifact.ParseReference("127.0.0.1:7112/dev/vendor", true)
	if err != nil || got.Child("hello/net").String() != "127.0.0.1:7112/dev/vendor/hello/net" || !got.PlainHTTP {
		t.Errorf("parsed %+v: %v", got, err)
	}
	for _, text := range []string{"", "host", "host/", "/path", "https://host/path", "host/path@sha256:00"} {
		if _, err := artifact.ParseReference(text, false); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for _, repository := range []string{"UPPER", "a:tag", "a@" + sha256digest.Of(nil), "../a", ""} {
		if _, err := Open(artifact.Reference{Host: "h:1", Repository: repository}, Credential{}); err == nil {
			t.Errorf("repository %q was opened", repository)
		}
	}
	for _, text := range []string{"", "sha256:", "sha256:" + strings.Repeat("A", 64),
		"sha512:" + strings.Repeat("a", 64), "latest"} {
		if _, err := open(t, artifact.Reference{Host: "h:1", Repository: "a"},
			Credential{}).Pull(t.Context(), text); err == nil {
			t.Errorf("digest %q was taken", text)
		}
	}
}
