package apiclient

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// TestResponsesAreBounded checks that a control plane cannot fill the memory of a runner with a small compressed
// response: only a state may be large, and that of a poll is small.
func TestResponsesAreBounded(t *testing.T) {
	answerWith := func(size int) http.HandlerFunc {
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		_, _ = writer.Write([]byte(`{"digest":"` + strings.Repeat("0", size) + `"}`)) // never fails
		_ = writer.Close()
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /runner/v1/lease", answerWith(maxResponse))
	mux.Handle("POST /runner/v1/heartbeat", answerWith(maxResponse))
	mux.Handle("GET /runner/v1/jobs/{job}/attempts/{attempt}/spec", answerWith(maxSpecResponse))
	mux.Handle("GET /runner/v1/jobs/{job}/attempts/{attempt}/state", answerWith(maxSpecResponse))
	server := httptest.NewServer(mux)
	defer server.Close()
	client, err := NewClient(server.URL, StaticToken(seal.NewSecret([]byte("t"))), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"a poll": func() error {
			_, err := client.LeaseWithResponse(t.Context(), api.LeaseRequest{})
			return err
		},
		"a heartbeat": func() error {
			_, err := client.HeartbeatWithResponse(t.Context(), api.Heartbeat{})
			return err
		},
		"a spec": func() error {
			_, err := client.GetSpecWithResponse(t.Context(), "job_1", 1)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "the answer has more than") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	state, err := client.GetStateWithResponse(t.Context(), "job_1", 1, nil)
	if err != nil || state.JSON200 == nil || len(state.JSON200.Digest) != maxSpecResponse {
		t.Errorf("a large state: %v", err)
	}
}

// TestTextsOfAProblemAreShort checks that a control plane cannot fill the log of a runner with one response.
func TestTextsOfAProblemAreShort(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	response := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}}
	err := CheckResponse("ask", response, []byte(`{"code":"c","title":"`+long+`","detail":"`+long+`"}`))
	refusal := AsResponseError(err)
	if refusal == nil || len(refusal.Title) > maxText+3 || len(refusal.Detail) > maxText+3 ||
		!strings.HasSuffix(refusal.Detail, "ä…") {
		t.Errorf("%d bytes: %.100v", len(err.Error()), err)
	}
}
