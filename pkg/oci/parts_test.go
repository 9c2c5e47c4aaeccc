package oci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// partial serves the layer of an artifact like a registry that supports range requests.
func partial(t *testing.T, packed artifact.Artifact,
	edit func(w http.ResponseWriter, r *http.Request) bool) artifact.Reference {
	t.Helper()
	manifest, err := packed.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case edit != nil && edit(w, r):
		case strings.Contains(r.URL.Path, "/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Content-Length", fmt.Sprint(len(manifest)))
			_, _ = w.Write(manifest)
		default:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(packed.Layer))
		}
	})
}

func fetchAll(t *testing.T, r *Repository, blob artifact.Blob, offset int64) (content []byte, at int64, err error) {
	t.Helper()
	body, at, err := r.Fetch(t.Context(), blob, offset)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = body.Close() }()
	content, err = io.ReadAll(body)
	return content, at, err
}

func TestFetchFromTheMiddle(t *testing.T) {
	packed := pack(t)
	r := open(t, partial(t, packed, nil), Credential{})
	parts, err := r.Parts(t.Context(), packed.Digest())
	if err != nil || parts.Layer.Digest != sha256digest.Of(packed.Layer) || parts.Layer.Size != int64(len(packed.Layer)) ||
		sha256digest.Of(parts.Manifest) != packed.Digest() {
		t.Fatalf("%+v, %v", parts, err)
	}
	for _, offset := range []int64{0, 1, parts.Layer.Size - 1} {
		content, at, err := fetchAll(t, r, parts.Layer, offset)
		if err != nil || at != offset || !bytes.Equal(content, packed.Layer[offset:]) {
			t.Errorf("from %d: %d bytes from %d, %v", offset, len(content), at, err)
		}
	}
	// From an offset beyond the end, the registry returns the whole blob.
	content, at, err := fetchAll(t, r, parts.Layer, parts.Layer.Size+7)
	if err != nil || at != 0 || !bytes.Equal(content, packed.Layer) {
		t.Errorf("from behind its end: %d bytes from %d, %v", len(content), at, err)
	}
}

func TestFetchIsRefusedInWords(t *testing.T) {
	packed := pack(t)
	layer := artifact.Blob{Digest: sha256digest.Of(packed.Layer), Size: int64(len(packed.Layer))}
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter)
		reason Reason
		words  string
	}{
		"gone": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, NotFound,
			"was pushed to this registry"},
		"forbidden": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, Forbidden,
			"use another credential"},
		"another length": {func(w http.ResponseWriter) { _, _ = w.Write([]byte("short")) }, Damaged,
			"it has 5 bytes there"},
		"another part": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Range", "bytes 1-2/9")
			w.WriteHeader(http.StatusPartialContent)
		}, Rejected, `returned the range "bytes 1-2/9"`},
		"says what it has": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(`{"errors":[{"code":"X","message":"no tea"}]}`))
		}, Rejected, "no tea"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, partial(t, packed,
				func(w http.ResponseWriter, _ *http.Request) bool { test.answer(w); return true }), Credential{})
			_, _, err := fetchAll(t, r, layer, 4)
			var refused *Error
			if !errors.As(err, &refused) || refused.Reason != test.reason ||
				!strings.Contains(err.Error(), test.words) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A body that breaks off returns an error that names the registry, and that differs from a refusal.
func TestABodyThatBreaksSaysWhichRegistryItIsOf(t *testing.T) {
	packed := pack(t)
	reference := partial(t, packed, func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(packed.Layer)))
		_, _ = w.Write(packed.Layer[:10])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	content, _, err := fetchAll(t, open(t, reference, Credential{}),
		artifact.Blob{Digest: sha256digest.Of(packed.Layer), Size: int64(len(packed.Layer))}, 0)
	var refused *Error
	if content != nil && len(content) > 10 || !errors.As(err, &refused) ||
		refused.Repository != reference || refused.Status != 0 {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

func TestPartsOfWhatIsNoArtifactOfOurs(t *testing.T) {
	packed := pack(t)
	manifest, err := packed.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	empty := "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	for name, change := range map[string]func(string) string{
		"a config": func(m string) string { return strings.Replace(m, empty, strings.Repeat("a", 64), 1) },
		"no JSON":  func(string) string { return "{" },
		"a huge layer": func(m string) string {
			return strings.Replace(m, fmt.Sprintf(`"size":%d`, len(packed.Layer)), `"size":999999999999`, 1)
		},
		"a minus size": func(m string) string {
			return strings.Replace(m, fmt.Sprintf(`"size":%d`, len(packed.Layer)), `"size":-1`, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := []byte(change(string(manifest)))
			if bytes.Equal(changed, manifest) {
				t.Fatal("nothing was changed")
			}
			reference := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				w.Header().Set("Content-Length", fmt.Sprint(len(changed)))
				_, _ = w.Write(changed)
			})
			if parts, err := open(t, reference, Credential{}).Parts(t.Context(), sha256digest.Of(changed)); err == nil {
				t.Errorf("got %+v", parts)
			}
		})
	}
}
