package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/cloud"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/jobpod"
	"github.com/nuon-toolkit/nuon/runnerd/jobrole"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/process"
	"github.com/nuon-toolkit/nuon/runnerd/runnerlog"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Options configures a runner.
type Options struct {
	// URL is the address of the runner API: https://host:port.
	URL string
	// Dir is the runner's own directory. It is created if necessary.
	Dir string
	// Name is the runner's name in its own log; empty for none.
	Name string
	// Capacity is how many jobs may run at once, if the runner file does not
	// set it; zero means 2.
	Capacity int
	// Token is the registration token. It is needed only the first time, and after
	// the runner was replaced.
	Token seal.Secret
	// Claim is how the runner registers by the identity of its machine, without a token.
	Claim cloud.Claim
	// RegistryUsername and RegistryPassword are the credential of the registry in
	// NUON_REGISTRY; empty where it needs none.
	RegistryUsername string
	RegistryPassword seal.Secret
	// Policy is the path of the runner file; empty means PolicyFile, if that exists.
	Policy string
	// Reload makes the runner read that file immediately, in addition to every timing.PolicyInterval.
	Reload <-chan struct{}
	// Version is the version of this program, which the control plane displays.
	Version string
	// Job is the command line of a job process; empty means this program with the argument "job".
	Job []string
	// SpareProcess means that one job process is started before there is a job for it. Job must support that.
	SpareProcess bool
	// JobUser is the user that the programs of jobs run as: NAME, UID or UID:GID.
	// Empty means DefaultJobUser where this process is root and that user exists, and otherwise
	// this process's own user.
	JobUser string
	// KubeConfig is the path of the kubeconfig for actions that request one; empty means
	// that of KUBECONFIG, if set.
	KubeConfig string
	// PassEnv names variables that jobs get in addition to those of package ambient.
	PassEnv []string
	// Install is the only install whose jobs this runner takes; empty for any.
	Install string
	// BreakGlass are the names of roles that need a grant of the owner, in addition to those in the runner file.
	BreakGlass []string
	// FinishKilled, when set, is called after all processes of a job have ended and before its end
	// is reported. It saves and removes what the job left outside of its spool directory,
	// below root, this runner's own directory. The returned sentences go to the job's log;
	// after an error it is called again.
	FinishKilled func(root string, attempt spool.Attempt, spec api.JobSpec) (said []string, err error)
	// TryRole starts a session of a job's role that nothing uses, to find out whether it works; nil means jobrole.Try.
	TryRole func(context.Context, jobrole.Options) error
	// Reaper means that this process starts only job processes, and adopts what those leave
	// behind when they die (see process.Adopt): it kills all other processes below it.
	Reaper bool
	// StopNow, when closed, ends Run immediately. Jobs continue.
	StopNow <-chan struct{}
	// Log receives the messages for the operator of the runner; nil means slog.Default.
	Log *slog.Logger
	// Timing holds the durations; zero means timing.Default.
	Timing timing.Timing
}

func (o Options) complete() (Options, error) {
	var err error
	for _, name := range o.PassEnv {
		if err := jobenv.CheckName(name); err != nil {
			return o, fmt.Errorf("--pass-env: %w", err)
		}
	}
	if !o.Claim.IsZero() {
		if err := o.Claim.Check(); err != nil {
			return o, fmt.Errorf("NUON_CLAIM: %w", err)
		}
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, fmt.Errorf("find the runner's directory: %w", err)
	}
	if o.KubeConfig != "" {
		if o.KubeConfig, err = readable(o.KubeConfig); err != nil {
			return o, fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	if o.Capacity <= 0 {
		o.Capacity = 2
	}
	if len(o.Job) == 0 {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find the runner's own program: %w", err)
		}
		o.Job = []string{self, "job"}
	}
	if o.TryRole == nil {
		o.TryRole = jobrole.Try
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Timing == (timing.Timing{}) {
		o.Timing = timing.Default()
	}
	return o, nil
}

// readable returns the absolute path of a file after checking that it can be read.
func readable(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%w; name a file that this runner may read", err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file; name the kubeconfig itself", path)
	}
	return path, nil
}

// runner is the state of one Run.
type runner struct {
	Options
	log        *slog.Logger
	kind       string // the registered kind: build or install
	keys       *keys
	rules      *rules
	connection *apiclient.ConnectionLog
	spool      spool.Spool
	clients                 // use the runner key
	poll       *leasePoller // makes the lease calls

	mutex    sync.Mutex
	attempts map[string]*attempt
	lease    time.Duration // as the control plane last reported it
	// changed has an element when an attempt was added or removed.
	changed chan struct{}
	// logCollector collects the lines of log for the control plane; secrets is what it masks.
	logCollector *runnerlog.Collector
	secrets      *redact.Set
	// working counts the goroutines of attempts.
	working sync.WaitGroup
	// children are the processes of attempts.
	children children
	// spare is the process of the next attempt; jobEnded has an element when an attempt has ended.
	spare    spare
	jobEnded chan struct{}
	// idle has an element when the last attempt has ended.
	idle chan struct{}
	// cgroups creates the attempts' control groups; the zero value where this
	// process has no permission.
	cgroups process.Cgroups
	// pods is what the jobs that run as pods have in common.
	pods *jobpod.Runner
	// jobUser is the user that the programs of jobs run as, UID:GID; empty for
	// this process's own user.
	jobUser string
	// stuck receives the error that ends this runner and that a person has to fix.
	stuck chan error
}

// clients are the API clients with one key or token.
type clients struct {
	short *api.ClientWithResponses // for calls that the server answers immediately
	bulk  *api.ClientWithResponses // for states and results
}

func (o Options) connect(token func() seal.Secret) (made clients, err error) {
	if made.short, err = apiclient.NewClient(o.URL, token, o.Timing.CallTimeout); err != nil {
		return made, err
	}
	made.bulk, err = apiclient.NewClient(o.URL, token, o.Timing.TransferTimeout)
	return made, err
}

// Run runs a runner. When ctx ends it accepts no more jobs, waits timing.StopWait for those
// that run, and leaves the others running; the next Run in the same directory adopts them. It
// returns an error only for what a person has to fix: the directory, the key, the registration.
func Run(ctx context.Context, options Options) error {
	options, err := options.complete()
	if err != nil {
		return err
	}
	own, secrets := newLogCollector(options)
	options.Log = own.Tee(options.Log)
	r := &runner{Options: options, log: options.Log, logCollector: own, secrets: secrets,
		spool: spool.Spool{Root: options.Dir}, attempts: map[string]*attempt{}, changed: make(chan struct{}, 1),
		jobEnded: make(chan struct{}, 1), idle: make(chan struct{}, 1), stuck: make(chan error, 1)}
	r.connection = &apiclient.ConnectionLog{Log: r.log, URL: r.URL}
	if r.children.known, err = process.Children(); err != nil {
		return err
	}
	lock, err := r.claimDirectory(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = filelock.Unlock(lock) }()
	if err := r.setUpJobUser(); err != nil {
		return err
	}
	if r.cgroups, err = process.FindCgroups(cgroupName(r.Dir)); err != nil {
		r.log.Info("no control group is available for the processes of jobs; they are found by their ancestry",
			"reason", err)
	}
	defer r.cgroups.Close()
	identity, err := r.identify(ctx)
	if err != nil {
		return err
	}
	r.log = r.log.With("runner", identity.RunnerID)
	r.kind, r.keys = identity.Kind, newKeys(r.Dir, r.log, identity)
	r.secrets.AddSecret(r.keys.currentKey())
	if r.clients, err = r.connect(r.keys.currentKey); err != nil {
		return err
	}
	if r.poll, err = newLeasePoller(r.Options, r.keys.currentKey, r.connection); err != nil {
		return err
	}
	r.rules = newRules(r.Options)
	for _, name := range r.PassEnv {
		if _, set := os.LookupEnv(name); !set {
			r.log.Warn("--pass-env names a variable that is not set here; jobs will not see it", "variable", name)
		}
	}
	if netguard.IsPlaintext(r.URL) {
		r.log.Warn("the connection to the control plane is not encrypted, so this runner's key can be read in "+
			"transit; use https",
			"url", r.URL)
	}
	key, err := seal.LoadIdentity(KeyFile(r.Dir))
	if err != nil {
		return err
	}
	r.pods = r.newPods(identity.RunnerID, key.Recipient().Fingerprint())
	r.log.Info("runner started", "install_key", key.Recipient().Fingerprint(), "name", identity.Name, "kind",
		identity.Kind, "capacity", r.Capacity, "url", r.URL, "dir", r.Dir)
	return r.work(ctx)
}

// lockFile returns the path of the lock that the runnerd in dir holds.
func lockFile(dir string) string { return filepath.Join(dir, "runnerd.lock") }

// cgroupName returns the name of a runner's control group. It is unique per directory,
// because another runner may be in the same parent group.
func cgroupName(dir string) string {
	digest := sha256.Sum256([]byte(dir))
	return "nuon-" + hex.EncodeToString(digest[:6])
}

// claimDirectory creates the directory, and makes sure that no other runnerd uses it.
func (r *runner) claimDirectory(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the runner's directory: %w", err)
	}
	lock, err := filelock.Claim(ctx, lockFile(r.Dir))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("another runnerd is running in %s; stop it, or use another directory with --dir", r.Dir)
	}
	return lock, err
}

// work starts the loops and waits for them. Loops that accept work end with ctx;
// those that supervise it end a little later.
func (r *runner) work(ctx context.Context) error {
	taking, stopTaking := context.WithCancel(ctx)
	defer stopTaking()
	after, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if err := r.adopt(after); err != nil {
		return err
	}
	var loops sync.WaitGroup
	loops.Go(func() { r.leaseLoop(taking, after) })
	loops.Go(func() { r.heartbeatLoop(after) })
	loops.Go(func() { r.ruleLoop(taking) })
	loops.Go(func() { r.roleLoop(taking) })
	loops.Go(func() { r.rotateLoop(taking) })
	loops.Go(func() { r.cleanUpLoop(taking) })
	loops.Go(func() { r.pluginCacheLoop(taking) })
	if report := stackReaders[r.Claim.Cloud]; report != nil && !r.Claim.IsZero() {
		loops.Go(func() { r.stackLoop(taking, report) })
	}
	endJournal := r.startLogShipping()
	if r.SpareProcess {
		loops.Go(func() { r.spareLoop(taking) })
	}
	if r.Reaper {
		loops.Go(func() { r.reapLoop(after) })
	}
	var stuck error
	select {
	case <-ctx.Done():
		r.windDown()
	case stuck = <-r.stuck:
		r.windDown()
	case <-r.StopNow:
	}
	stopTaking()
	stop()
	loops.Wait()
	r.working.Wait()
	endJournal() // last, so that it sends the log of the others
	return stuck
}

// windDown waits for the attempts, for at most timing.StopWait.
func (r *runner) windDown() {
	limit := time.NewTimer(r.Timing.StopWait)
	defer limit.Stop()
	running := r.listAttempts()
	if len(running) > 0 {
		r.log.Info("stopping: taking no more jobs, and waiting for the running ones", "jobs", len(running), "at_most",
			r.Timing.StopWait.String())
	}
	for len(running) > 0 {
		select {
		case <-running[0].done:
			running = r.listAttempts()
		case <-limit.C:
			r.log.Info("stopping: running jobs continue without this process, and the next runnerd in this "+
				"directory adopts them", "jobs",
				len(running), "dir", r.Dir)
			return
		case <-r.StopNow:
			return
		}
	}
}

// addAttempt adds an attempt, and returns false when it already exists.
func (r *runner) addAttempt(a *attempt) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if _, known := r.attempts[a.name()]; known {
		return false
	}
	r.attempts[a.name()] = a
	return true
}

// removeAttempt removes an attempt.
func (r *runner) removeAttempt(a *attempt) {
	r.mutex.Lock()
	delete(r.attempts, a.name())
	last := len(r.attempts) == 0
	r.mutex.Unlock()
	if last {
		select {
		case r.idle <- struct{}{}:
		default:
		}
	}
	r.wake()
	select {
	case r.jobEnded <- struct{}{}:
	default:
	}
}

func (r *runner) listAttempts() []*attempt {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var attempts []*attempt
	for _, a := range r.attempts {
		attempts = append(attempts, a)
	}
	return attempts
}

// maxInspections is the number of requests to look into what runs that take no slot of other jobs: a person follows
// a log while a deploy waits for its pods.
const maxInspections = 4

// freeSlots returns how many more jobs may run. Attempts that have ended but are not
// delivered yet do not count, and neither do maxInspections requests.
func (r *runner) freeSlots(rule policy.Rule) int {
	free := r.Capacity
	if rule.Limits.Capacity > 0 {
		free = rule.Limits.Capacity
	}
	inspections := 0
	for _, a := range r.listAttempts() {
		switch {
		case a.isConcluded():
		case a.isInspection() && inspections < maxInspections:
			inspections++
		default:
			free--
		}
	}
	return max(free, 0)
}

// wake makes the lease loop recheck the capacity.
func (r *runner) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *runner) setLease(seconds int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lease = time.Duration(seconds) * time.Second
}

func (r *runner) heartbeatInterval() time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.Timing.HeartbeatFor(r.lease)
}

// retryPolicy returns a Pace that retries without limit. A key that the control plane does not know
// now (401, 403) ends nothing, because the spool may hold the only copy of its content.
func (r *runner) retryPolicy() apiclient.RetryPolicy {
	return apiclient.RetryPolicy{
		First: r.Timing.BackoffMin, Max: r.Timing.BackoffMax, Connection: r.connection,
		IsFinal: func(refusal *apiclient.ResponseError) bool {
			return !refusal.IsTemporary() && refusal.Status != http.StatusUnauthorized && refusal.Status != http.StatusForbidden
		},
	}
}
