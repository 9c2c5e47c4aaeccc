package runner

import (
	"context"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/ambient"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/journal"
)

// journalDir is where what this runner says of itself waits while the control plane is away.
func journalDir(dir string) string { return filepath.Join(dir, "journal") }

// newJournal makes the journal, which leaves out the secrets that this process was started with.
func newJournal(o Options) (*journal.Journal, *redact.Set) {
	secrets := &redact.Set{}
	for _, secret := range ambient.Secrets(ambient.ForJob(os.Environ(), true, o.PassEnv)) {
		secrets.Add(secret)
	}
	secrets.AddSecret(o.Token)
	secrets.AddSecret(o.RegistryPassword)
	return journal.New(secrets), secrets
}

// startJournal sends the journal from now on. What it gives ends that, with a last try.
func (r *runner) startJournal() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // until stop
		defer close(ended)
		r.journal.Run(ctx, journal.Options{Dir: journalDir(r.Dir), Send: r.sendJournal, Timing: r.Timing})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// sendJournal makes one call. It is not told to the line: the journal would then tell of itself.
func (r *runner) sendJournal(ctx context.Context, chunk api.NewLogChunk) error {
	answer, err := r.quick.AppendRunnerLogsWithResponse(ctx, api.LogBatch{Chunks: []api.NewLogChunk{chunk}})
	if err != nil {
		return err
	}
	return contact.Check("deliver the runner's own log", answer.HTTPResponse, answer.Body)
}
