package control

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyDeclaredStreams: a handler can stream only if openapi.yaml declares it, because nothing
// else removes the deadlines of a response.
func TestOnlyDeclaredStreams(t *testing.T) {
	s := &Server{}
	err := s.stream(t.Context(), httptest.NewRecorder(), func(context.Context, http.ResponseWriter) error {
		t.Error("it streams")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "openapi.yaml declares no response") {
		t.Errorf("refused with %v", err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if file != "stream.go" && !strings.HasSuffix(file, "_test.go") &&
			strings.Contains(string(source), "middleware.Unhurried") {
			t.Errorf("%s removes the deadlines of a response; let Server.stream do that", file)
		}
	}
}
