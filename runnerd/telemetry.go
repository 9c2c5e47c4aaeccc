package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/spf13/pflag"

	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/probe"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// telemetryFlags configures the runner's log and status page for its operator.
type telemetryFlags struct {
	log    telemetry.LogOptions
	listen string
}

func (i *telemetryFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&i.log.Format, "log-format", "text", "format of the log: text or json")
	f.StringVar(&i.log.Level, "log-level", "info", "lowest level to log: debug, info, warn or error")
	f.StringVar(&i.listen, "insight-listen", "",
		"address for /healthz and /debug/status, without authentication (default none)")
}

// open creates the log, and a context in which goroutines report their activity to
// /debug/status. The caller calls the returned function at the end.
func (i *telemetryFlags) open(ctx context.Context, to io.Writer) (context.Context, *slog.Logger, func() error, error) {
	log, err := telemetry.NewLog(to, i.log)
	if err != nil {
		return ctx, nil, nil, err
	}
	if i.listen == "" {
		return ctx, log, func() error { return nil }, nil
	}
	board, mux := status.NewBoard(), http.NewServeMux()
	mux.Handle("GET /debug/status", board.Handler("runnerd", version.Number, nil))
	at, stop, err := status.Serve(ctx, i.listen, probe.New().Handler(mux))
	if err != nil {
		return ctx, nil, nil, errors.Join(err, errors.New("choose another address with --insight-listen"))
	}
	log.Info("insight", "url", "http://"+at+"/debug/status")
	return board.WithBoard(ctx), log, stop, nil
}
