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

// Span is one piece of work on the way from a push to what came of it. A nil Span does nothing.
type Span struct{ span trace.Span }

// Begin opens a span below the one that ctx is in (or a new trace), from now on. Its attributes are ids and plain words, never
// secrets; they are in the log lines of the returned context, too. End must be called.
func Begin(ctx context.Context, name string, about ...slog.Attr) (context.Context, *Span) {
	return begin(ctx, name, about)
}

// BeginAt is Begin for work that began earlier: whoever looks for something tells of it only when there was something.
func BeginAt(ctx context.Context, since time.Time, name string, about ...slog.Attr) (context.Context, *Span) {
	return begin(ctx, name, about, trace.WithTimestamp(since))
}

func begin(ctx context.Context, name string, about []slog.Attr, options ...trace.SpanStartOption) (context.Context, *Span) {
	ctx = With(ctx, about...)
	tracer := tracerOf(ctx)
	if tracer == nil {
		return ctx, nil
	}
	ctx, span := tracer.Start(ctx, name, append(options, trace.WithAttributes(attributes(attrsOf(ctx))...))...)
	return ctx, &Span{span}
}

// attributes gives log attributes OpenTelemetry's form.
func attributes(about []slog.Attr) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, len(about))
	for _, a := range about {
		all = append(all, attribute.String("nuon."+a.Key, a.Value.String()))
	}
	return all
}

// End closes the span. An error marks it as failed without repeating its words, which may hold more than ids.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Failed marks the span as failed, for a reason that is no error of the program's own.
func (s *Span) Failed() {
	if s != nil {
		s.span.SetStatus(codes.Error, "")
	}
}

// traceparent is the one header of W3C Trace Context that is kept; it is the form of every `trace` column and field.
const traceparent = "traceparent"

// Inject gives the place of ctx in its trace, as a W3C traceparent; empty when it is in none.
func Inject(ctx context.Context) string {
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header.Get(traceparent)
}

// Extract puts ctx at a place that Inject gave, perhaps in another program. What is not a traceparent is no place, and changes
// nothing.
func Extract(ctx context.Context, place string) context.Context {
	if place == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: place})
}
