package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Span is one piece of work in the trace from a push to its results. A nil Span does nothing.
type Span struct{ span trace.Span }

// StartSpan starts a span below that of ctx, or in a new trace. Its attributes are ids and plain words,
// never secrets; log lines of the returned context contain them too. End must be called.
func StartSpan(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return startSpan(ctx, name, attrs)
}

// StartSpanAt is StartSpan for work that started earlier. Code that polls uses it to record a span only if
// it found something.
func StartSpanAt(ctx context.Context, since time.Time, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return startSpan(ctx, name, attrs, trace.WithTimestamp(since))
}

func startSpan(
	ctx context.Context, name string, attrs []slog.Attr, options ...trace.SpanStartOption,
) (context.Context, *Span) {
	ctx = ContextWithAttrs(ctx, attrs...)
	tracer := tracerOf(ctx)
	if tracer == nil {
		return ctx, nil
	}
	ctx, span := tracer.Start(ctx, name, append(options, trace.WithAttributes(attributes(attrsOf(ctx))...))...)
	return ctx, &Span{span}
}

// attributes converts log attributes to OpenTelemetry attributes.
func attributes(attrs []slog.Attr) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		all = append(all, attribute.String("nuon."+a.Key, a.Value.String()))
	}
	return all
}

// End ends the span. An error marks it as failed; the error's text is not recorded, because it may
// contain more than ids.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// MarkFailed marks the span as failed for a reason that is not an error of the program.
func (s *Span) MarkFailed() {
	if s != nil {
		s.span.SetStatus(codes.Error, "")
	}
}

// traceparent is the only header of W3C Trace Context that is used. Every `trace` column and field
// contains its value.
const traceparent = "traceparent"

// Inject returns the position of ctx in its trace as a W3C traceparent, or the empty string if ctx
// has no trace.
func Inject(ctx context.Context) string {
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header.Get(traceparent)
}

// Extract continues the trace at a position from Inject, possibly from another program. It ignores
// text that is not a traceparent.
func Extract(ctx context.Context, place string) context.Context {
	if place == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: place})
}
