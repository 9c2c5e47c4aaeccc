package control

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestALogIsWrittenPageByPage checks that a log is one list for the client and that each page is written before the
// next one is read.
func TestALogIsWrittenPageByPage(t *testing.T) {
	for name, sizes := range map[string][]int{"none": {0}, "one page": {2}, "several": {3, 3, 0}} {
		t.Run(name, func(t *testing.T) {
			want := api.LogChunkList{Items: []api.LogChunk{}}
			w := httptest.NewRecorder()
			err := writeLog(w, func(page func([]api.LogChunk) error) error {
				for _, size := range sizes {
					chunks := []api.LogChunk{}
					for range size {
						chunks = append(chunks, api.LogChunk{Attempt: 1, Seq: int64(len(want.Items) + len(chunks)),
							Lines: []api.LogLine{{L: api.Info, M: "a \"line\""}}})
					}
					want.Items = append(want.Items, chunks...)
					before := w.Body.Len()
					if err := page(chunks); err != nil {
						return err
					}
					if size > 0 && w.Body.Len() == before {
						t.Errorf("after a page of %d chunks, nothing is written", size)
					}
				}
				return nil
			})
			var got api.LogChunkList
			if err != nil || json.Unmarshal(w.Body.Bytes(), &got) != nil ||
				w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("%v, wrote %q %v", err, w.Body, w.Header())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// TestALogThatCannotBeReadIsNoWholeAnswer checks that an error before the first page is returned, and that a later
// one breaks the response off.
func TestALogThatCannotBeReadIsNoWholeAnswer(t *testing.T) {
	broken := errors.New("broken")
	w := httptest.NewRecorder()
	err := writeLog(w, func(func([]api.LogChunk) error) error { return broken })
	if !errors.Is(err, broken) || w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("%v, wrote %q %v", err, w.Body, w.Header())
	}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // the value itself
			t.Errorf("panicked with %v", got)
		}
	}()
	err = writeLog(w, func(page func([]api.LogChunk) error) error { return errors.Join(page(nil), broken) })
	t.Errorf("returned %v", err)
}
