package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestWithoutAnEndpoint checks that nothing is recorded, and that a trace position from another
// program is passed on unchanged.
func TestWithoutAnEndpoint(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(name, "")
	}
	ctx, stop, err := Start(t.Context(), "test", "1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := StartSpan(ctx, "alone", slog.String("org", "org_1"))
	if span != nil || Inject(ctx) != "" {
		t.Errorf("a span was made: %q", Inject(ctx))
	}
	span.MarkFailed()
	span.End(context.Canceled)
	const place = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx, span = StartSpan(Extract(ctx, place), "below")
	span.End(nil)
	if got := Inject(ctx); got != place {
		t.Errorf("the place became %q", got)
	}
	for _, bad := range []string{"", "x", "00-0-0-00", "00-00000000000000000000000000000000-0000000000000000-01",
		strings.Repeat("a", 1<<16)} {
		if got := Inject(Extract(t.Context(), bad)); got != "" {
			t.Errorf("%.20q became the place %q", bad, got)
		}
	}
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestExport sends two spans to a collector and checks for one trace, ids as attributes, and no
// text of an error.
func TestExport(t *testing.T) {
	var got collector.ExportTraceServiceRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		if err := proto.Unmarshal(b.Bytes(), &got); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	ctx, stop, err := Start(t.Context(), "test", "1")
	if err != nil {
		t.Fatal(err)
	}
	above, first := StartSpan(ctx, "first", slog.String("org", "org_1"))
	elsewhere := Extract(CopyTracer(t.Context(), ctx), Inject(above))
	_, second := StartSpan(elsewhere, "second")
	second.End(http.ErrAbortHandler)
	first.End(nil)
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := got.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
	if len(spans) != 2 || !bytes.Equal(spans[0].GetTraceId(), spans[1].GetTraceId()) ||
		!bytes.Equal(spans[0].GetParentSpanId(), spans[1].GetSpanId()) {
		t.Fatalf("exported %v", spans)
	}
	text := got.String()
	for word, want := range map[string]bool{"nuon.org": true, "org_1": true, `"test"`: true,
		http.ErrAbortHandler.Error(): false} {
		if strings.Contains(text, word) != want {
			t.Errorf("%q in what was exported: %v\n%s", word, !want, text)
		}
	}
}

func TestProtocolThatIsNotSpoken(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, _, err := Start(t.Context(), "test", "1"); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("grpc: %v", err)
	}
}

// TestLog checks that a line has the attributes of its context, and that its own attributes take
// precedence.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLog(&out, LogOptions{Format: "json", Level: "debug"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := ContextWithAttrs(t.Context(), slog.String("org", "org_1"), slog.String("job", "old"), slog.String("none", ""))
	ctx = ContextWithAttrs(ctx, slog.String("job", "job_1"))
	ctx = Extract(ctx, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	log.With("runner", "r").DebugContext(ctx, "hello", "org", "mine")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"msg": "hello", "level": "DEBUG", "runner": "r", "org": "mine", "job": "job_1",
		"trace_id": "0af7651916cd43dd8448eb211c80319c"}
	delete(line, "time")
	if len(line) != len(want) {
		t.Errorf("the line is %v", line)
	}
	for k, v := range want {
		if line[k] != v {
			t.Errorf("%s is %v, not %v", k, line[k], v)
		}
	}
	for _, o := range []LogOptions{{Format: "xml"}, {Level: "loud"}} {
		if _, err := NewLog(&out, o); err == nil {
			t.Errorf("%v is taken", o)
		}
	}
}
