package runnerprogram_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/runnerprogram"
)

// TestServe serves a program by its digest only, also after its file was replaced.
func TestServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runnerd")
	write := func(text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("first program")
	program, err := runnerprogram.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	write("another program")

	mux := http.NewServeMux()
	mux.Handle(runnerprogram.Route, program)
	get := func(path string) *httptest.ResponseRecorder {
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, nil))
		return response
	}
	sum := sha256.Sum256([]byte("first program"))
	runner := program.Runner("https://runners.example.com/")
	if runner.SHA256 != hex.EncodeToString(sum[:]) || runner.URL != "https://runners.example.com" {
		t.Errorf("runner %+v", runner)
	}
	path := strings.TrimPrefix(runner.DownloadURL, runner.URL)
	if got := get(path); got.Code != http.StatusOK || got.Body.String() != "first program" {
		t.Errorf("%s: %d %q", path, got.Code, got.Body)
	}
	for _, other := range []string{"/runnerd/" + strings.Repeat("0", 64), "/runnerd/..%2fetc%2fpasswd", "/runnerd/"} {
		if got := get(other); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", other, got.Code)
		}
	}
	none := &runnerprogram.Program{}
	if runner := none.Runner("https://x"); runner.SHA256 != "" || runner.DownloadURL != "" {
		t.Errorf("no program gives %+v", runner)
	}
	if _, err := runnerprogram.Open(file + ".none"); err == nil || !strings.Contains(err.Error(), "--runner-program") {
		t.Errorf("a missing file: %v", err)
	}
}
