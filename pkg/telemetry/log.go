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

// LogOptions say what a program's own log looks like. The zero value is text from info on.
type LogOptions struct {
	Format string // text or json; empty for text
	Level  string // debug, info, warn or error; empty for info
}

// NewLog makes a log that adds to each line what its context is about (With), and the trace that it is in.
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

type aboutKey struct{}

// With says what ctx is about: every log line and span of it carries these. A key that is there already gets the newer value, one
// without a value is left out.
func With(ctx context.Context, about ...slog.Attr) context.Context {
	all := slices.Clone(attrsOf(ctx))
	for _, a := range about {
		if a.Value.String() == "" {
			continue
		}
		all = append(slices.DeleteFunc(all, func(b slog.Attr) bool { return b.Key == a.Key }), a)
	}
	return context.WithValue(ctx, aboutKey{}, all)
}

func attrsOf(ctx context.Context) []slog.Attr {
	about, _ := ctx.Value(aboutKey{}).([]slog.Attr)
	return about
}

// handler adds what is in the context. A line's own attributes win.
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
	if at := trace.SpanContextFromContext(ctx); at.HasTraceID() {
		line.AddAttrs(slog.String("trace_id", at.TraceID().String()))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs keeps the wrapping.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the wrapping.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
