package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/process"
)

// jobProcess runs the job of an attempt as a process of this machine, which outlives runnerd.
type jobProcess struct {
	*attempt
	// ended is closed when the process that this runnerd started has ended;
	// nil for an adopted process.
	ended <-chan struct{}
}

// start starts the job process: in its own session, by which its descendants can be found;
// with the attempt's lock, which shows that it lives; and with files for its output, so that it
// does not depend on this process. The next observation of the attempt sees the process,
// or that there was one.
func (p *jobProcess) start(context.Context) error {
	lock, err := p.dir.TakeLock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := p.dir.MarkStarted(time.Now()); err != nil {
		return err
	}
	secrets, err := p.secrets().Pipe()
	if err != nil {
		return p.fail(err)
	}
	defer func() { _ = secrets.Close() }()
	stdout, stderr, err := p.openOutput()
	if err != nil {
		return p.fail(err)
	}
	defer func() { _ = errors.Join(stdout.Close(), stderr.Close()) }()
	assignment := job.Assignment{Dir: p.dir.Dir, Variables: p.variables(), Lock: lock, Secrets: secrets, Stdout: stdout,
		Stderr: stderr}
	if p.ended = p.runner.spare.assign(assignment); p.ended != nil {
		return nil
	}
	if p.ended, err = p.runner.children.start(p.command(assignment)); err != nil {
		return p.fail(fmt.Errorf("start the job process: %w; check that the runner's program can be run and the "+
			"machine has free memory", err))
	}
	return nil
}

// command returns the command of a process for an attempt.
func (p *jobProcess) command(a job.Assignment) *exec.Cmd {
	command := p.runner.jobCommand("--dir", a.Dir)
	command.Dir = a.Dir
	command.ExtraFiles = []*os.File{a.Lock, a.Secrets} // they become numbers 3 and 4
	a.Variables[job.VarDir], a.Variables[job.VarLock], a.Variables[job.VarSecrets] = a.Dir, "3", "4"
	for _, name := range slices.Sorted(maps.Keys(a.Variables)) {
		command.Env = append(command.Env, name+"="+a.Variables[name])
	}
	command.Stdout, command.Stderr = a.Stdout, a.Stderr
	return command
}

// jobCommand returns the command of a job process, without what belongs to one attempt.
func (r *runner) jobCommand(args ...string) *exec.Cmd {
	//nolint:noctx // no context may end it: it outlives this process
	command := exec.Command(r.Job[0], append(r.Job[1:len(r.Job):len(r.Job)], args...)...)
	command.Env = r.jobEnvironment()
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return command
}

// openOutput opens the files for the output of the process.
func (p *jobProcess) openOutput() (stdout, stderr *os.File, err error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if stdout, err = os.OpenFile(p.dir.StdoutFile(), flags, 0o600); err != nil {
		return nil, nil, fmt.Errorf("start the job process: %w", err)
	}
	if stderr, err = os.OpenFile(p.dir.StderrFile(), flags, 0o600); err != nil {
		return nil, nil, fmt.Errorf("start the job process: %w", errors.Join(err, stdout.Close()))
	}
	return stdout, stderr, nil
}

// variables returns the variables of the job process that belong to the attempt, without those of its open files.
func (p *jobProcess) variables() map[string]string {
	set := map[string]string{job.VarURL: p.url()}
	if cgroup, err := p.runner.cgroups.Create(filepath.Base(p.dir.Dir)); err != nil {
		p.log.Warn("cannot put the processes of the job into a control group", "error", err)
	} else if cgroup != "" {
		set[job.VarCgroup] = cgroup
	}
	return set
}

// jobEnvironment returns the environment of all job processes of this runner.
func (r *runner) jobEnvironment() []string {
	env := jobenv.JobEnv(os.Environ(), r.kind == string(api.RunnerKindInstall), r.PassEnv)
	for _, name := range passedVariables {
		if value, found := os.LookupEnv(name); found {
			env = append(env, name+"="+value)
		}
	}
	if r.jobUser != "" {
		env = append(env, job.VarUser+"="+r.jobUser)
	}
	if r.KubeConfig != "" && r.kind == string(api.RunnerKindInstall) {
		env = append(env, job.VarKubeConfig+"="+r.KubeConfig)
	}
	return append(env, job.GCOff, job.VarRoot+"="+r.Dir, job.VarKeyFile+"="+KeyFile(r.Dir))
}

// alive reports whether the job process lives, judged by its lock.
func (p *jobProcess) alive(context.Context) (bool, error) { return p.dir.Alive() }

// changes returns a channel that is closed when the job process has ended. The end of an adopted process, of which
// this runnerd is not the parent, is only found by polling.
func (p *jobProcess) changes() <-chan struct{} { return p.ended }

// wait waits until the ended process has been reaped. The process released its lock when it
// ended, so this takes no more than a moment.
func (p *jobProcess) wait() {
	if p.ended != nil {
		<-p.ended
	}
}

// processes returns the job that identifies the processes of this attempt. It returns false
// when the job process has not recorded itself yet.
func (p *jobProcess) processes() (process.Job, bool, error) {
	return process.JobOf(p.dir)
}

// memory returns how much memory the processes of the job use together, in bytes.
func (p *jobProcess) memory() (int64, error) {
	job, found, err := p.processes()
	if err != nil || !found {
		return 0, err
	}
	return job.Memory()
}

// interrupt interrupts the job process. It returns false when the process has
// not recorded itself yet.
func (p *jobProcess) interrupt(context.Context) bool {
	job, found, err := p.processes()
	if err != nil || !found {
		return false
	}
	if err := job.Interrupt(); err != nil && !errors.Is(err, process.ErrNoProcess) {
		p.log.Warn("cannot interrupt the job", "error", err)
	}
	return true
}

// kill kills the processes of the job that exist now.
func (p *jobProcess) kill(context.Context) error {
	job, found, err := p.processes()
	if err != nil || !found {
		return err
	}
	_, err = job.Kill()
	return err
}

// finish makes sure that no process of the job runs any more.
func (p *jobProcess) finish(ctx context.Context) error {
	p.wait() // the process may have ended before it was watched
	if err := p.awaitOrphans(ctx); err != nil {
		return err
	}
	return p.killAll(ctx)
}

// awaitOrphans waits for the programs of a dead job process to end, before sweep kills the rest:
// after an interrupt Terraform completes its current operation and writes its state to a file,
// which is worth more than a quick end. It does nothing when the job process ended regularly,
// because it has done that already, or when the job is to be killed.
func (p *jobProcess) awaitOrphans(ctx context.Context) error {
	job, found, err := p.processes()
	if err != nil || !found {
		return err
	}
	_, finished, err := p.dir.Result()
	ending, ends, endingErr := p.startedTermination()
	if finished || err != nil || endingErr != nil || ending.Killed {
		return nil //nolint:nilerr // a result that cannot be read is a result
	}
	begun, found, err := p.dir.OrphansInterruptedAt()
	if err != nil {
		return err
	}
	if !found {
		left, err := job.CountLive()
		if err != nil || left == 0 {
			return err
		}
		p.log.Warn("the job process has exited, and processes that it started have not; interrupting "+
			"them", "processes", left, "grace",
			p.runner.Timing.ToolGrace.String())
		begun = time.Now()
		if err := p.dir.MarkOrphansInterrupted(begun); err != nil {
			return err
		}
		// When the job was being ended anyway, the job process has passed the interrupt on,
		// and a second one does harm.
		if !ends {
			if _, err := job.InterruptOrphans(); err != nil {
				return err
			}
		}
	}
	for graceEnds := monotonic(begun).Add(p.runner.Timing.ToolGrace); time.Now().Before(graceEnds); {
		if left, err := job.CountLive(); err != nil || left == 0 {
			return err
		}
		if !backoff.Pause(ctx, p.runner.Timing.PollInterval) {
			return ctx.Err()
		}
	}
	return nil
}

// killAll kills the processes that the job process left behind, until none is left.
func (p *jobProcess) killAll(ctx context.Context) error {
	job, found, err := p.processes()
	if err != nil || !found {
		return err // it ended before it could start a process
	}
	warnAt := time.Now().Add(p.runner.Timing.KillWait)
	for {
		left, err := job.Kill()
		if err == nil && p.runner.Reaper {
			var strays int
			strays, err = p.runner.killOrphans(p.attempt)
			left += strays
		}
		if err != nil {
			return err
		}
		if left == 0 {
			if err := job.RemoveCgroup(); err != nil {
				p.log.Warn("a control group is left behind", "error", err)
			}
			return nil
		}
		if time.Now().After(warnAt) {
			p.log.Warn("killed processes of the job have not exited; the job counts as running until they do", "processes", left,
				"session", job.Leader.PID)
			warnAt = time.Now().Add(p.runner.Timing.BackoffMax)
		}
		if !backoff.Pause(ctx, p.runner.Timing.PollInterval) {
			return ctx.Err()
		}
	}
}
