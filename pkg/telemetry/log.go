package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// LogOptions configure the log of a program. The zero value selects text from level info.
type LogOptions struct {
	Format string // text or json; empty for text
	Level  string // debug, info, warn or error; empty for info
}

// NewLog returns a logger that adds the attributes of the context (ContextWithAttrs) and its trace id to each
// line.
func NewLog(w io.Writer, o LogOptions) (*slog.Logger, error) {
	var level slog.Level
	if o.Level != "" {
		if err := level.UnmarshalText([]byte(o.Level)); err != nil {
			return nil, fmt.Errorf("--log-level %q: use one of debug, info, warn, error", o.Level)
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch strings.ToLower(o.Format) {
	case "", "text":
		return slog.New(handler{slog.NewTextHandler(w, options)}), nil
	case "json":
		return slog.New(handler{slog.NewJSONHandler(w, options)}), nil
	}
	return nil, fmt.Errorf("--log-format %q: use text or json", o.Format)
}

type attrsKey struct{}

// ContextWithAttrs adds attributes to ctx that every log line and span under it has. A new value replaces that
// of the same key; an attribute without a value is left out.
func ContextWithAttrs(ctx context.Context, attrs ...slog.Attr) context.Context {
	all := slices.Clone(attrsOf(ctx))
	for _, a := range attrs {
		if a.Value.String() == "" {
			continue
		}
		all = append(slices.DeleteFunc(all, func(b slog.Attr) bool { return b.Key == a.Key }), a)
	}
	return context.WithValue(ctx, attrsKey{}, all)
}

func attrsOf(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return attrs
}

// handler adds the attributes of the context to each line. The line's own attributes take
// precedence.
type handler struct{ slog.Handler }

// Handle writes one line.
func (h handler) Handle(ctx context.Context, line slog.Record) error {
	own := map[string]bool{}
	line.Attrs(func(a slog.Attr) bool { own[a.Key] = true; return true })
	for _, a := range attrsOf(ctx) {
		if !own[a.Key] {
			line.AddAttrs(a)
		}
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		line.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs returns a handler with the same wrapping.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup returns a handler with the same wrapping.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
