package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/ambient"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/journal"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/process"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Options say how a runner works.
type Options struct {
	// URL is that of the runner API: https://host:port.
	URL string
	// Dir is the runner's own directory; made when it is not there.
	Dir string
	// Name is for the log of this runner; empty means the name it registered under.
	Name string
	// Capacity is how many jobs may run at once, where the runner file does not say; zero means 2.
	Capacity int
	// Token is the registration token; needed only the first time, and after the runner was replaced.
	Token seal.Secret
	// RegistryUsername and RegistryPassword are the credential of the registry that NUON_REGISTRY names; empty where it asks for none.
	RegistryUsername string
	RegistryPassword seal.Secret
	// Policy is the path of the runner file; empty means PolicyFile, if it is there.
	Policy string
	// Reload makes the runner look at that file at once; else it does so every timing.Rules.
	Reload <-chan struct{}
	// Version is this program's, for the control plane to see.
	Version string
	// Job is the command line of a job process; empty means this program with the argument "job".
	Job []string
	// JobUser is whom the programs of jobs run as: NAME, UID or UID:GID; empty for DefaultJobUser where this process is root and that
	// user exists, else for this process's own user.
	JobUser string
	// KubeConfig is the path of the file by which actions that ask for it find the cluster; empty means that of KUBECONFIG, if that
	// is set.
	KubeConfig string
	// PassEnv names variables that jobs get besides those that package ambient says.
	PassEnv []string
	// Settle, when set, is called when all processes of a job are gone and before its end is told: it keeps and clears away what
	// the job left outside its spool directory, below root, this runner's own. The sentences go to the job's log; an error is
	// tried again.
	Settle func(root string, attempt spool.Attempt, spec api.JobSpec) (said []string, err error)
	// Reaper says that this process starts nothing but job processes, and gets what those leave behind when they die (see
	// process.Adopt): what else turns up below it is killed.
	Reaper bool
	// Abandon, when closed, ends Run at once, whatever still runs. Jobs go on.
	Abandon <-chan struct{}
	// Log takes what the operator of the runner reads; nil means slog.Default.
	Log *slog.Logger
	// Timing is zero for timing.Default.
	Timing timing.Timing
}

func (o Options) complete() (Options, error) {
	var err error
	for _, name := range o.PassEnv {
		if err := ambient.CheckName(name); err != nil {
			return o, fmt.Errorf("--pass-env: %w", err)
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
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Timing == (timing.Timing{}) {
		o.Timing = timing.Default()
	}
	return o, nil
}

// readable gives the absolute path of a file that can be read now.
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

// runner is one Run.
type runner struct {
	Options
	log   *slog.Logger
	kind  string // as it was registered: build or install
	keys  *keys
	rules *rules
	line  *contact.Line
	spool spool.Spool
	lines        // with the runner key
	poll  *polls // lease

	mutex    sync.Mutex
	attempts map[string]*attempt
	lease    time.Duration // as the control plane last said
	// changed has an element when an attempt has come or gone.
	changed chan struct{}
	// journal takes down what log says, for the control plane; secrets is what it leaves out.
	journal *journal.Journal
	secrets *redact.Set
	// working counts the goroutines of attempts.
	working sync.WaitGroup
	// children are the processes of attempts.
	children children
	// cgroups is where the attempts' control groups are made; the zero value where this process may not.
	cgroups process.Cgroups
	// jobUser is whom the programs of jobs run as, UID:GID; empty for this process's own user.
	jobUser string
	// stuck takes the error that ends this runner, for a person to mend.
	stuck chan error
}

// lines are what calls are made with, by one key or token.
type lines struct {
	quick *api.ClientWithResponses // calls that are answered at once
	heavy *api.ClientWithResponses // states and results
}

func (o Options) connect(token func() seal.Secret) (made lines, err error) {
	if made.quick, err = contact.NewClient(o.URL, token, o.Timing.Call); err != nil {
		return made, err
	}
	made.heavy, err = contact.NewClient(o.URL, token, o.Timing.Transfer)
	return made, err
}

// Run is a runner's life. When ctx ends it takes no more jobs, waits timing.StopWait for those that run, and leaves the others
// running; the next Run in the same directory adopts them. It gives an error only for what has to be mended by a person: the
// directory, the key, the registration.
func Run(ctx context.Context, options Options) error {
	options, err := options.complete()
	if err != nil {
		return err
	}
	own, secrets := newJournal(options)
	options.Log = own.Over(options.Log)
	r := &runner{Options: options, log: options.Log, journal: own, secrets: secrets, spool: spool.Spool{Root: options.Dir}, attempts: map[string]*attempt{}, changed: make(chan struct{}, 1), stuck: make(chan error, 1)}
	r.line = &contact.Line{Log: r.log, URL: r.URL}
	if r.children.known, err = process.Children(); err != nil {
		return err
	}
	lock, err := r.claimDirectory(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := r.separate(); err != nil {
		return err
	}
	if r.cgroups, err = process.FindCgroups(cgroupName(r.Dir)); err != nil {
		r.log.Info("no control group holds the processes of a job together here; they are found by their descent", "reason", err)
	}
	defer r.cgroups.Close()
	identity, err := r.identify(ctx)
	if err != nil {
		return err
	}
	r.log = r.log.With("runner", identity.RunnerID)
	r.kind, r.keys = identity.Kind, newKeys(r.Dir, r.log, identity)
	r.secrets.AddSecret(r.keys.now())
	if r.lines, err = r.connect(r.keys.now); err != nil {
		return err
	}
	if r.poll, err = newPolls(r.Options, r.keys.now, r.line); err != nil {
		return err
	}
	r.rules = newRules(r.Options)
	for _, name := range r.PassEnv {
		if _, set := os.LookupEnv(name); !set {
			r.log.Warn("--pass-env names a variable that is not set here; jobs will not see it", "variable", name)
		}
	}
	if isOpenLine(r.URL) {
		r.log.Warn("the line to the control plane is not encrypted, and this runner's key can be read on the way; use https", "url", r.URL)
	}
	key, err := seal.LoadIdentity(KeyFile(r.Dir))
	if err != nil {
		return err
	}
	r.log.Info("the runner works", "install_key", key.Recipient().Fingerprint(), "name", identity.Name, "kind", identity.Kind, "capacity", r.Capacity, "url", r.URL, "dir", r.Dir)
	return r.work(ctx)
}

// isOpenLine tells whether others can listen: plain HTTP that leaves the machine.
func isOpenLine(base string) bool {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "http" || parsed.Hostname() == "localhost" {
		return false
	}
	address := net.ParseIP(parsed.Hostname())
	return address == nil || !address.IsLoopback()
}

// lockFile is held by the runnerd that works in dir.
func lockFile(dir string) string { return filepath.Join(dir, "runnerd.lock") }

// cgroupName is that of a runner: another one, in another directory, may be in the same control group.
func cgroupName(dir string) string {
	digest := sha256.Sum256([]byte(dir))
	return "nuon-" + hex.EncodeToString(digest[:6])
}

// claimDirectory makes the directory, and makes sure that no other runnerd uses it. Whoever only looks (ReadStatus) holds the lock
// for a moment, so it is tried a few times.
func (r *runner) claimDirectory(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the runner's directory: %w", err)
	}
	for tries := 1; ; tries++ {
		lock, err := filelock.Try(lockFile(r.Dir))
		if !errors.Is(err, filelock.ErrHeld) {
			return lock, err
		}
		if tries == 5 || !backoff.Pause(ctx, r.Timing.Look) {
			return nil, fmt.Errorf("another runnerd works in %s; stop it, or give this one a directory of its own with --dir", r.Dir)
		}
	}
}

// work starts the loops and waits for them. Loops that take work end with ctx; those that look after it end a little later.
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
	loops.Go(func() { r.rotateLoop(taking) })
	loops.Go(func() { r.clearLoop(taking) })
	endJournal := r.startJournal()
	if r.Reaper {
		loops.Go(func() { r.reapLoop(after) })
	}
	var stuck error
	select {
	case <-ctx.Done():
		r.windDown()
	case stuck = <-r.stuck:
		r.windDown()
	case <-r.Abandon:
	}
	stopTaking()
	stop()
	loops.Wait()
	r.working.Wait()
	endJournal() // the last, for what the others say
	return stuck
}

// windDown waits for the attempts, for timing.StopWait at most.
func (r *runner) windDown() {
	limit := time.NewTimer(r.Timing.StopWait)
	defer limit.Stop()
	running := r.list()
	if len(running) > 0 {
		r.log.Info("stopping: no more jobs are taken; waiting for those that run", "jobs", len(running), "at_most", r.Timing.StopWait.String())
	}
	for len(running) > 0 {
		select {
		case <-running[0].gone:
			running = r.list()
		case <-limit.C:
			r.log.Info("stopping: jobs go on without this process, and the next runnerd in this directory adopts them", "jobs", len(running), "dir", r.Dir)
			return
		case <-r.Abandon:
			return
		}
	}
}

// enter notes an attempt; false when it is known already.
func (r *runner) enter(a *attempt) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if _, known := r.attempts[a.name()]; known {
		return false
	}
	r.attempts[a.name()] = a
	return true
}

// leave forgets an attempt.
func (r *runner) leave(a *attempt) {
	r.mutex.Lock()
	delete(r.attempts, a.name())
	r.mutex.Unlock()
	r.wake()
}

func (r *runner) list() []*attempt {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var attempts []*attempt
	for _, a := range r.attempts {
		attempts = append(attempts, a)
	}
	return attempts
}

// free is how many more jobs may run. What has ended but is not delivered yet takes no place.
func (r *runner) free(rule policy.Rule) int {
	free := r.Capacity
	if rule.Limits.Capacity > 0 {
		free = rule.Limits.Capacity
	}
	for _, a := range r.list() {
		if !a.isConcluded() {
			free--
		}
	}
	return max(free, 0)
}

// wake makes the lease loop look again.
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

func (r *runner) beat() time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.Timing.BeatWithin(r.lease)
}

// pace tries for as long as it takes. A key that the control plane does not know now (401, 403) ends nothing: what is in the
// spool may be all there is.
func (r *runner) pace() contact.Pace {
	return contact.Pace{
		First: r.Timing.BackoffFirst, Most: r.Timing.BackoffMost, Line: r.line,
		Final: func(refusal *contact.Refusal) bool {
			return !refusal.Passing() && refusal.Status != http.StatusUnauthorized && refusal.Status != http.StatusForbidden
		},
	}
}
