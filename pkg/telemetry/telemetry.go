// Package telemetry is how the programs say what they do to whoever runs them: spans of OpenTelemetry traces, and log lines that
// carry the ids of what they are about. It owns the forms and the export; it never decides anything, keeps nothing, and must be
// given ids only, never a secret. The reconciler and runnerd call it; nuon does not. What it needs travels in the context, so that
// a function which was given no telemetry works as well and pays nothing.
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

// scope names the instrumentation in what is exported.
const scope = "github.com/nuon-toolkit/nuon"

type tracerKey struct{}

// Start reads the standard variables (OTEL_EXPORTER_OTLP_ENDPOINT and its kin; OpenTelemetry's specification lists them) and gives
// a context in which Begin opens spans, and what sends the last of them. Without an endpoint, or with OTEL_SDK_DISABLED or
// OTEL_TRACES_EXPORTER=none, nothing is recorded or exported, and stop does nothing. Only OTLP over HTTP is spoken. A collector that
// cannot be reached is told to the log; it never keeps the program from its work.
func Start(ctx context.Context, service, version string) (_ context.Context, stop func(context.Context) error, err error) {
	idle := func(context.Context) error { return nil }
	if !wanted(os.Getenv) {
		return ctx, idle, nil
	}
	if p := protocol(os.Getenv); p != "" && !strings.HasPrefix(p, "http/") {
		return ctx, idle, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; use http/protobuf, and the collector's port for it (usually 4318)", p)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return ctx, idle, fmt.Errorf("set up the export of traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", version)),
		resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return ctx, idle, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// OpenTelemetry has one place for errors of its background export, for the whole process.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { slog.Warn("traces are not exported", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return context.WithValue(ctx, tracerKey{}, provider.Tracer(scope)), provider.Shutdown, nil
}

// StopTime is how long a program may take to send its last spans when it ends.
const StopTime = 2 * time.Second

// wanted tells whether the environment names a place for traces.
func wanted(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none") {
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

// Carry gives ctx the telemetry of another context: for work that lives longer than, or began apart from, where Start was called.
func Carry(ctx, from context.Context) context.Context {
	if tracer := tracerOf(from); tracer != nil {
		return context.WithValue(ctx, tracerKey{}, tracer)
	}
	return ctx
}

func tracerOf(ctx context.Context) trace.Tracer {
	tracer, _ := ctx.Value(tracerKey{}).(trace.Tracer)
	return tracer
}
