package action

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/plainlines"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/transcript"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Debug is the handler of debug jobs. It runs one command that the runner's owner allows, without a shell and without
// input, with the cluster of the install's sandbox in KUBECONFIG.
type Debug struct{}

const (
	// defaultDebugTime and maxDebugTime bound a command that sets no time, and any.
	defaultDebugTime, maxDebugTime = 10 * time.Minute, time.Hour
	// maxDebugBytes and maxDebugLines bound the output of a command.
	maxDebugBytes, maxDebugLines = 1 << 20, 10_000
)

// The reasons for which a command is ended.
var (
	errDebugTime   = errors.New("the time of the request is over, so the command was ended")
	errDebugOutput = fmt.Errorf("the command printed more than %d MiB or %d lines, so it was ended; let it print less",
		maxDebugBytes>>20, maxDebugLines)
)

// Run runs the command of one request. What the owner forbids is not run, and that is in the owner's log as well.
func (Debug) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Debug
	event := audit.Event{What: audit.DebugStarted, Job: env.Spec.Job, Attempt: env.Spec.Attempt, Install: spec.InstallID,
		Operation: string(env.Spec.Kind), Reason: fmt.Sprintf("%.500q; %s, as the control plane names them: %s",
			spec.Request.Command, spec.RequestedBy, spec.Request.Reason)}
	if err := env.Policy.CheckCommand(spec.Request.Command); err != nil {
		event.What = audit.DebugRefused
		return api.JobResult{}, errors.Join(err, audit.Append(env.Root, event))
	}
	out, err := newTranscript(env)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := audit.Append(env.Root, event); err != nil {
		return api.JobResult{}, errors.Join(err, out.file.Close())
	}
	result, err := runCommand(ctx, env, out)
	err = errors.Join(err, out.close(&result.Debug))
	event.What, event.Reason = audit.DebugEnded, fmt.Sprintf("%s, exit code %d: %d lines, transcript %s",
		result.Status, result.Debug.ExitCode, result.Debug.Lines, result.Debug.Transcript)
	if err != nil {
		event.Reason = env.Redact.String(err.Error())
	}
	return result, errors.Join(err, audit.Append(env.Root, event))
}

// runCommand runs the command. A command that fails is no error but a failed result, which has its exit code.
func runCommand(ctx context.Context, env *job.Env, out *output) (result api.JobResult, err error) {
	spec := env.Spec.Debug
	opened, err := values.Open(spec.InstallID, spec.Values, env.Key, env.Redact)
	if err != nil {
		return result, err
	}
	work, err := env.CreateWorkDir()
	if err != nil {
		return result, err
	}
	limit := policy.Limits{Timeout: policy.Duration(time.Duration(env.Policy.Debug.TimeoutSeconds) * time.Second)}.TimeoutOf(
		min(time.Duration(spec.Request.TimeoutSeconds)*time.Second, maxDebugTime), defaultDebugTime)
	limited, stopTimer := context.WithTimeoutCause(ctx, limit, errDebugTime)
	defer stopTimer()
	limited, stop := context.WithCancelCause(limited)
	defer stop(nil)
	out.full = func() { stop(errDebugOutput) }
	r := &run{env: env, values: opened, work: work, spec: api.ActionSpec{InstallID: spec.InstallID, KubeConfig: true,
		Cluster: spec.Cluster, Values: spec.Values}}
	if err := r.openCluster(limited); err != nil {
		return result, err
	}
	dir, environ, err := r.debugEnviron()
	if err != nil {
		return result, err
	}
	program, err := lookUp(spec.Request.Command[0], dir, environ)
	if err != nil {
		return result, err
	}
	stdout, stderr := out.writer(env.Log.Info), out.writer(env.Log.Warn)
	err = subprocess.Program{Path: program, Args: spec.Request.Command, Dir: dir, Env: environ, Stdout: stdout,
		Stderr: stderr, Name: "the command", Group: true, Grace: env.Timing.ToolGrace, Warn: env.Log.Warn}.Run(limited)
	_, _ = stdout.Close(), stderr.Close() // errors are those of the transcript
	result.Status = job.Succeeded
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		result.Debug.ExitCode = exit.ExitCode()
	}
	switch cause := context.Cause(limited); {
	case ctx.Err() != nil:
		result.Status, result.Error = api.JobResultStatusCancelled, "the command was cancelled"
	case cause != nil:
		result.Status, result.Error = api.JobResultStatusFailed, cause.Error()
	case err != nil:
		result.Status, result.Error = api.JobResultStatusFailed, exitError(spec.Request.Command[0], err).Error()
	}
	return result, nil
}

// debugEnviron returns an empty directory and the environment of a debug command.
func (r *run) debugEnviron() (dir string, environ []string, err error) {
	dir = filepath.Join(r.work, "root")
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return "", nil, err
	}
	if err := subprocess.GrantOwnership(dir); err != nil {
		return "", nil, err
	}
	made := jobenv.ToolEnv(os.Environ())
	r.cluster(made)
	made["TMPDIR"], made["NUON_INSTALL_ID"] = filepath.Join(dir, "tmp"), r.spec.InstallID
	environ, err = envLines(made)
	return dir, environ, err
}

// output is the output of a command: on the runner's disk, and in the log of the job.
type output struct {
	env  *job.Env
	full func() // ends the command

	mutex       sync.Mutex
	file        *os.File
	digest      hash.Hash
	lines, size int
	err         error
}

// newTranscript creates the transcript of a command.
func newTranscript(env *job.Env) (*output, error) {
	file, err := transcript.Create(env.Root, env.Spec.Job, env.Spec.Attempt, ".log")
	if err != nil {
		return nil, err
	}
	return &output{env: env, file: file, digest: sha256.New(), full: func() {}}, nil
}

// writer returns a writer that adds its lines, without secrets and without what a terminal acts on.
func (o *output) writer(log func(format string, args ...any)) io.WriteCloser {
	lines := &plainlines.Writer{Line: func(line string) { o.add(log, line) }}
	return &maskingWriter{Writer: o.env.Redact.Writer(lines), lines: lines}
}

// maskingWriter is a redactor before the lines that it writes to.
type maskingWriter struct {
	io.Writer
	lines *plainlines.Writer
}

// Close passes on what both hold back.
func (w *maskingWriter) Close() error {
	err := w.Writer.(io.Closer).Close()
	return errors.Join(err, w.lines.Close())
}

// add adds one line. Beyond the bounds it ends the command instead.
func (o *output) add(log func(format string, args ...any), line string) {
	line = strings.TrimRight(line, "\n") + "\n"
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.lines == maxDebugLines || o.size+len(line) > maxDebugBytes {
		o.full()
		return
	}
	o.lines, o.size = o.lines+1, o.size+len(line)
	o.digest.Write([]byte(line))
	if _, err := o.file.WriteString(line); err != nil && o.err == nil {
		o.err = err
		o.full()
	}
	log("%s", line) // with its end: without one, the log leaves out an empty line
}

// close completes the file, and the result with what it has.
func (o *output) close(result *api.DebugResult) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	result.Lines, result.Bytes = o.lines, int64(o.size)
	result.Transcript = "sha256:" + hex.EncodeToString(o.digest.Sum(nil))
	if err := errors.Join(o.err, o.file.Sync(), o.file.Close()); err != nil {
		return fmt.Errorf("write the transcript: %w", err)
	}
	return nil
}
