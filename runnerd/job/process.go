package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/hardening"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/jobrole"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/process"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// RunProcess runs the job that the environment describes, in this process, with one of handlers,
// and stores its result in the spool. SIGINT and SIGTERM end the ctx of the handler.
// It returns an error only when it could not store a result; a failed job is no error.
// It may be called once in a process, because it takes over the signals and the standard output
// and hides the memory.
func RunProcess(ctx context.Context, handlers Handlers, at timing.Timing) error {
	if err := errors.Join(hardening.HideMemory(), enableGC()); err != nil {
		return err
	}
	env, err := readEnvironment()
	if err != nil {
		return err
	}
	attempt := spool.Attempt{Dir: env.dir}
	lock, this, err := claimAttempt(attempt, env)
	if err != nil {
		return err
	}
	if err := process.Adopt(); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	user, err := programUser(attempt, env.user)
	if err != nil {
		return err
	}
	defer recordProcesses(attempt, this, user, at)()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	secrets := &redact.Set{}
	secrets.AddSecret(env.token)
	secrets.AddSecret(env.registryPassword)
	for _, secret := range jobenv.Secrets(os.Environ()) {
		secrets.Add(secret)
	}
	log, closeLog, err := openLog(attempt, secrets, at)
	if err != nil {
		return err
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		secrets.Add([]byte(os.Getenv(name)))
	}
	ctx, stopTraces, err := telemetry.Start(ctx, "nuon-runner", version.Number)
	if err != nil {
		log.Warn("this job is not traced: %v", err)
	}
	defer sendSpans(ctx, stopTraces)
	result := run(ctx, &Env{Dir: env.dir, Root: env.root, KubeConfig: env.kubeConfig, Log: log, Redact: secrets,
		Timing: at}, env, handlers)
	result.Error = secrets.String(result.Error)
	killDescendants(at)
	closeLog()
	if trouble := log.Err(); trouble != nil {
		// runnerd adds this to the log if the disk has room again.
		fmt.Fprintf(os.Stderr, "lines of this job's log are lost: %v\n", trouble)
	}
	return attempt.SaveResult(result)
}

// killDescendants kills the processes that the job left behind. If they do not end in time,
// runnerd waits for them.
func killDescendants(at timing.Timing) {
	giveUp := time.Now().Add(at.KillWait / 2)
	for {
		left, err := process.KillDescendants()
		if err != nil || left == 0 || time.Now().After(giveUp) {
			return
		}
		backoff.Pause(context.Background(), at.PollInterval/10)
	}
}

// sendSpans sends the job's spans. Spans that the collector does not accept in time are lost;
// they do not delay the result for long.
func sendSpans(ctx context.Context, stop func(context.Context) error) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetry.StopTimeout)
	defer cancel()
	_ = stop(last)
}

// recordProcesses records the job's processes: each program when it starts and, unless a control group
// contains them all, periodically their descendants. The returned function stops that.
func recordProcesses(attempt spool.Attempt, this spool.Process, user *subprocess.User, at timing.Timing) (stop func()) {
	recorder := &process.Recorder{Attempt: attempt}
	subprocess.Configure(subprocess.Setup{Started: recorder.Record, User: user})
	if this.Cgroup != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // runs until stop
		defer close(ended)
		for backoff.Pause(ctx, 2*at.PollInterval) {
			_ = recorder.Record() // a full disk does not end the job; the next pass tries again
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// programUser returns the user that programs run as, or nil for this process's own user,
// and creates that user's directories for this attempt.
func programUser(attempt spool.Attempt, named string) (*subprocess.User, error) {
	if named == "" {
		return nil, nil
	}
	shared := attempt.SharedDir()
	user := &subprocess.User{Home: filepath.Join(shared, "home"), Temp: filepath.Join(shared, "tmp")}
	if _, err := fmt.Sscanf(named, "%d:%d", &user.UID, &user.GID); err != nil || user.UID == 0 {
		return nil, fmt.Errorf("%s is %q, which is not UID:GID of an ordinary user", VarUser, named)
	}
	subprocess.Configure(subprocess.Setup{User: user})
	if err := os.Mkdir(shared, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the job's user: %w", err)
	}
	for _, dir := range []string{user.Home, user.Temp} {
		if err := errors.Join(os.Mkdir(dir, 0o700), subprocess.GrantOwnership(dir)); err != nil {
			return nil, fmt.Errorf("make the directory of the job's user: %w", err)
		}
	}
	return user, subprocess.AllowTraverse(shared)
}

// claimAttempt makes sure that this process holds the lock of the attempt, keeps child processes
// from inheriting it, joins the attempt's control group, and records this process.
func claimAttempt(attempt spool.Attempt, env environment) (lock *os.File, this spool.Process, err error) {
	this = spool.ThisProcess()
	inherited := env.lock
	if inherited == "" {
		lock, err = attempt.TakeLock()
	} else {
		var number int
		if number, err = strconv.Atoi(inherited); err == nil {
			syscall.CloseOnExec(number)
			lock = os.NewFile(uintptr(number), "lock")
		}
	}
	if err != nil {
		return nil, this, fmt.Errorf("take the lock of this attempt: %w", err)
	}
	// If the kernel does not allow it, the list of record has to suffice.
	if env.cgroup != "" && process.Join(env.cgroup) == nil {
		this.Cgroup = env.cgroup
	}
	return lock, this, attempt.SaveProcess(this)
}

// openLog opens the log, and logs at level warn what libraries print to the standard
// output or error. A crash of this process is not included: the Go runtime writes it to the
// file that runnerd opened.
func openLog(attempt spool.Attempt, secrets *redact.Set, at timing.Timing) (*Log, func(), error) {
	out, err := attempt.OpenLog()
	if err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("catch what libraries print: %w", err)
	}
	log := NewLog(out, secrets)
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = write, write
	drained := make(chan struct{})
	go func() { // waits until this process, the last writer, closes the pipe
		defer close(drained)
		caught := log.Writer(api.Warn)
		_, _ = read.WriteTo(caught) // errors of the log are in Err
		_ = caught.Close()
	}()
	return log, func() {
		os.Stdout, os.Stderr = stdout, stderr
		_ = write.Close()
		// A process that the job left behind may hold the pipe open forever.
		_ = read.SetReadDeadline(time.Now().Add(at.KillWait))
		<-drained
		_ = read.Close()
		log.Close()
		_ = out.Close()
	}, nil
}

// run runs the job and returns its result.
func run(ctx context.Context, env *Env, from environment, handlers Handlers) api.JobResult {
	if err := prepare(ctx, env, from); err != nil {
		return errorResult(ctx, env, err)
	}
	logRole := env.Log.Info
	if env.Spec.Kind == api.JobSpecKindDebugCommand { // its lines of this level are the output of the command
		logRole = env.Log.Debug
	}
	role, err := jobrole.Open(ctx, jobrole.Options{Spec: env.Spec, Policy: env.Policy, Dir: env.Root, Log: logRole,
		Redact: env.Redact})
	if unusable, is := jobrole.Unusable(env.Spec, err); is && ctx.Err() == nil && isStep(env.Spec.Kind) {
		env.Log.Warn("not started: %v", err)
		return api.JobResult{Status: api.JobResultStatusNotStarted, Error: err.Error(), UnusableRole: unusable}
	}
	if err != nil {
		return errorResult(ctx, env, err)
	}
	defer func() { _ = role.Close() }()
	handler, known := handlers[env.Spec.Kind]
	if !known {
		return errorResult(ctx, env, fmt.Errorf("this runner cannot do jobs of kind %q; update it to the version of the "+
			"control plane", env.Spec.Kind))
	}
	ctx, span := telemetry.StartSpan(telemetry.Extract(ctx, env.Spec.Trace), "job "+string(env.Spec.Kind),
		slog.String("org", env.Spec.Org),
		slog.String("job", env.Spec.Job), slog.Int("attempt", env.Spec.Attempt))
	result, err := recoverPanic(ctx, handler, env)
	if err == nil && result.Status != api.JobResultStatusSucceeded {
		span.MarkFailed()
	}
	span.End(err)
	if err != nil {
		return errorResult(ctx, env, err)
	}
	if result.Status == "" {
		return errorResult(ctx, env, fmt.Errorf("the handler of %q jobs gave a result without a status; this is a bug in "+
			"nuon; report it", env.Spec.Kind))
	}
	return result
}

// isStep reports whether a job of the kind is a step of a workflow, which waits for a role that is unusable. All other
// jobs fail and say why: somebody wants to know it now.
func isStep(kind api.JobSpecKind) bool {
	return kind == api.JobSpecKindPlan || kind == api.JobSpecKindApply || kind == api.JobSpecKindAction
}

// prepare completes env with the API client, the key, the spec and the registries.
func prepare(ctx context.Context, env *Env, from environment) (err error) {
	if env.API, err = NewAttemptClient(from.url, from.token, from.dir, env.Timing); err != nil {
		return err
	}
	env.API.SetLog(env.Log)
	if from.keyFile != "" {
		env.Key, err = from.loadKey()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if env.Spec, err = env.API.spec(ctx); err != nil {
		return err
	}
	if env.Spec.Job != env.API.job || env.Spec.Attempt != env.API.attempt {
		return fmt.Errorf("asked for the spec of %s/%d, got that of %s/%d; this is a bug in the control plane; report it",
			env.API.job, env.API.attempt, env.Spec.Job, env.Spec.Attempt)
	}
	if err := checkDigest(env.Spec, from.specDigest); err != nil {
		return err
	}
	if err := checkAllowed(env, from.ownIdentity); err != nil {
		return err
	}
	if err := env.API.spool.SaveSpec(env.Spec); err != nil {
		return err
	}
	env.Vendor, env.Install, err = from.registries(env.Spec)
	return err
}

// checkDigest returns an error for a spec that is not the one that runnerd has checked. runnerd reads only the specs of
// pods; checked is empty for a process.
func checkDigest(spec api.JobSpec, checked string) error {
	if checked == "" {
		return nil
	}
	digest, err := SpecDigest(spec)
	if err == nil && digest != checked {
		err = errors.New("the control plane sent another spec than the one that runnerd has checked; the job is not done: " +
			"this is a bug in the control plane; report it")
	}
	return err
}

// checkAllowed checks the spec against the offer and the policy of the runner file at that time,
// and sets env.Policy. With ownIdentity, programs act as the pod, whose identity is that of the job's
// role. Without a record of runnerd there was no offer, and the policy is that of a runner without a file.
func checkAllowed(env *Env, ownIdentity bool) error {
	record, err := env.API.spool.Record()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	env.Policy = policy.Rule{RunnerPolicy: record.Policy}
	if len(record.Secrets) > 0 {
		if err := json.Unmarshal(record.Secrets, &env.Policy.Secrets); err != nil {
			return fmt.Errorf("read where the runner's owner stores secrets: %w", err)
		}
	}
	if err != nil {
		record.Kind = string(env.Spec.Kind)
	}
	env.Policy.Roles.OwnIdentity = env.Policy.Roles.OwnIdentity || ownIdentity
	return env.Policy.CheckSpec(record.Kind, env.Spec)
}

// recoverPanic turns a panic of the handler into an error, so that its message passes the redactor.
// The Go runtime would print it unmasked.
func recoverPanic(ctx context.Context, handler Handler, env *Env) (result api.JobResult, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			env.Log.Error("the handler crashed: %v\n%s", fault, debug.Stack())
			err = errors.New("the runner's handler of this job crashed; the log says where: this is a bug in nuon; " +
				"report it")
		}
	}()
	return handler.Run(ctx, env)
}

// errorResult returns the result of a job that ended with an error.
func errorResult(ctx context.Context, env *Env, err error) api.JobResult {
	if ctx.Err() != nil {
		env.Log.Warn("interrupted: %v", err)
		return api.JobResult{Status: api.JobResultStatusCancelled, Error: err.Error()}
	}
	if moved := (*StaleError)(nil); errors.As(err, &moved) {
		env.Log.Warn("stale: %v", moved)
		return api.JobResult{Status: api.JobResultStatusStale, Error: moved.Error()}
	}
	env.Log.Error("%v", err)
	return api.JobResult{Status: api.JobResultStatusFailed, Error: err.Error()}
}
