package runner

import (
	"context"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/runnerlog"
)

// runnerLogDir returns the directory of the runner's own log lines that are not delivered yet.
func runnerLogDir(dir string) string { return filepath.Join(dir, "runnerlog") }

// newLogCollector creates the collector, which masks the secrets that this process was started with.
func newLogCollector(o Options) (*runnerlog.Collector, *redact.Set) {
	secrets := &redact.Set{}
	for _, secret := range jobenv.Secrets(jobenv.JobEnv(os.Environ(), true, o.PassEnv)) {
		secrets.Add(secret)
	}
	secrets.AddSecret(o.Token)
	secrets.AddSecret(o.RegistryPassword)
	return runnerlog.New(secrets), secrets
}

// startLogShipping starts sending the runner's log. The returned function stops that after one last try.
func (r *runner) startLogShipping() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // runs until stop
		defer close(ended)
		r.logCollector.Run(ctx, runnerlog.Options{Dir: runnerLogDir(r.Dir), Send: r.sendLogChunk, Timing: r.Timing})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// sendLogChunk makes one call. It does not use the ConnectionLog, because its log messages would
// enter the log again.
func (r *runner) sendLogChunk(ctx context.Context, chunk api.NewLogChunk) error {
	answer, err := r.short.AppendRunnerLogsWithResponse(ctx, api.LogBatch{Chunks: []api.NewLogChunk{chunk}})
	if err != nil {
		return err
	}
	return apiclient.CheckResponse("deliver the runner's own log", answer.HTTPResponse, answer.Body)
}
