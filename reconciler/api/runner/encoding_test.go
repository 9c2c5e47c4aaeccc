package runner_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// send sends a body with the given Content-Encoding.
func (s served) send(t testing.TB, path, token, encoding string, body io.Reader) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, body)
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Encoding", encoding)
	return do(t, request)
}

// zipped compresses its parts.
func zipped(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	must(t, err)
	for _, p := range parts {
		_, err := w.Write(p)
		must(t, err)
	}
	must(t, w.Close())
	return out.Bytes()
}

// TestPackedBodies checks that a gzip body is accepted like a plain one; that one that is not gzip,
// incomplete or too large is refused; and that a small body that expands to a large one is refused
// at the limit for plain bodies.
func TestPackedBodies(t *testing.T) {
	s := serve(t, nil)
	r := s.Runner(t, runners.KindBuild)
	s.Job(t, r, "build", "")
	ref, _ := s.Start(t, r)
	batch, err := json.Marshal(api.LogBatch{
		Chunks: []api.NewLogChunk{{Seq: 1, Lines: []api.LogLine{{T: time.Unix(1, 0), L: api.Info, M: "packed"}}}},
	})
	must(t, err)
	// 64 MiB of one letter compress to 64 KiB; a batch may have 4 MiB.
	letters := bytes.Repeat([]byte("x"), 1<<20)
	var bomb [][]byte
	for range 64 {
		bomb = append(bomb, letters)
	}
	for name, test := range map[string]struct {
		encoding string
		body     []byte
		status   int
		code     string
	}{
		"gzip":           {"gzip", zipped(t, batch), 204, ""},
		"its other case": {"GZIP", zipped(t, batch), 204, ""},
		"plain":          {"identity", batch, 204, ""},
		"no gzip":        {"gzip", batch, 400, "bad_request"},
		"cut off":        {"gzip", zipped(t, batch)[:20], 400, "bad_request"},
		"nothing":        {"gzip", nil, 400, "bad_request"},
		"another":        {"br", batch, 415, "encoding"},
		"two":            {"gzip, gzip", zipped(t, zipped(t, batch)), 415, "encoding"},
		"a bomb": {
			"gzip",
			zipped(t, append([][]byte{[]byte(`{"chunks":[{"seq":9,"lines":[{"m":"`)}, bomb...)...), 413, "too_large",
		},
		"a large one": {"gzip", bytes.Join([][]byte{zipped(t), make([]byte, 5<<20)}, nil), 400, "bad_request"},
	} {
		a := s.send(t, attemptPath(ref, "logs"), r.Key, test.encoding, bytes.NewReader(test.body))
		if a.status != test.status || (test.code != "" && a.code(t) != test.code) {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.body, test.status, test.code)
		}
	}
	var got []api.LogChunk
	must(t, s.Logs.Read(t.Context(), s.Org.ID, ref.Job, func(page []api.LogChunk) error {
		got = append(got, page...)
		return nil
	}))
	if len(got) != 1 || got[0].Lines[0].M != "packed" {
		t.Errorf("kept %+v", got)
	}
}

// FuzzPackedBody checks that any gzip body is read up to a limit and that nothing panics.
func FuzzPackedBody(f *testing.F) {
	f.Add(zipped(f, []byte("{}")))
	f.Add(zipped(f, bytes.Repeat([]byte("x"), 1<<20)))
	f.Add(append(zipped(f, []byte("one")), zipped(f, []byte("two"))...))
	f.Add(zipped(f, []byte("cut"))[:12])
	f.Add([]byte(strings.Repeat("\x1f\x8b\x08", 9)))
	// Large, and broken after that.
	f.Add([]byte("\x1f\x8b\bA000000\xec\xc0\x81\x00\x00\x00\x00\x80 x\xf1\x17\xa9   \x00\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		const most = 4096
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Encoding", "gzip")
		if err := runner.PlainBody(httptest.NewRecorder(), r, most); err != nil {
			t.Fatal(err)
		}
		read, broken := io.ReadAll(r.Body)
		if len(read) > most {
			t.Fatalf("%d bytes became %d", len(body), len(read))
		}
		plain, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return
		}
		// Only the end of a body shows that it is complete. One that is too large or broken is read
		// up to some point, and refused.
		want, err := io.ReadAll(io.LimitReader(plain, most+1))
		switch whole := err == nil && len(want) <= most; {
		case whole && (broken != nil || !bytes.Equal(want, read)):
			t.Fatalf("read %q, %v, want %q", read, broken, want)
		case !whole && (broken == nil || !bytes.HasPrefix(want, read)):
			t.Fatalf("read %q, %v, of what begins with %q, %v", read, broken, want, err)
		}
	})
}
