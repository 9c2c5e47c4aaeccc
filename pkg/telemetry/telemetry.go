// Package telemetry reports what the programs do to their operators: as spans of OpenTelemetry
// traces, and as log lines with the ids of the affected objects. It owns the formats and the
// export. It never makes decisions and stores nothing, and callers must pass ids only, never a
// secret. The reconciler and runnerd call it; nuon does not. Its state is in the context, so that
// functions whose context has no telemetry work as well, at no cost.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of exported spans.
const scope = "github.com/nuon-toolkit/nuon"

type tracerKey struct{}

// Start reads the standard variables (OTEL_EXPORTER_OTLP_ENDPOINT and others in OpenTelemetry's
// specification). It returns a context in which StartSpan starts spans, and a function that sends the
// remaining spans. Without an endpoint, or with OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER=none,
// nothing is recorded or exported, and stop does nothing. Only OTLP over HTTP is supported. An
// unreachable collector is reported in the log and never blocks the program.
func Start(
	ctx context.Context, service, version string,
) (_ context.Context, stop func(context.Context) error, err error) {
	idle := func(context.Context) error { return nil }
	if !hasEndpoint(os.Getenv) {
		return ctx, idle, nil
	}
	if p := protocol(os.Getenv); p != "" && !strings.HasPrefix(p, "http/") {
		return ctx, idle, fmt.Errorf(
			"OTEL_EXPORTER_OTLP_PROTOCOL is %q; use http/protobuf, and the collector's port for it (usually 4318)", p)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return ctx, idle, fmt.Errorf("set up the export of traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", service),
			attribute.String("service.version", version)),
		resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return ctx, idle, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// OpenTelemetry has one process-wide handler for errors of its background export.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { slog.Warn("traces are not exported", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return context.WithValue(ctx, tracerKey{}, provider.Tracer(scope)), provider.Shutdown, nil
}

// StopTimeout is the maximum time for a program to send its last spans when it ends.
const StopTimeout = 2 * time.Second

// hasEndpoint reports whether the environment configures an endpoint for traces.
func hasEndpoint(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") ||
		strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none") {
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func protocol(getenv func(string) string) string {
	if p := getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"); p != "" {
		return p
	}
	return getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
}

// CopyTracer returns ctx with the telemetry of another context. It is for work that outlives the context
// of Start, or that has a separate context.
func CopyTracer(ctx, from context.Context) context.Context {
	if tracer := tracerOf(from); tracer != nil {
		return context.WithValue(ctx, tracerKey{}, tracer)
	}
	return ctx
}

func tracerOf(ctx context.Context) trace.Tracer {
	tracer, _ := ctx.Value(tracerKey{}).(trace.Tracer)
	return tracer
}
