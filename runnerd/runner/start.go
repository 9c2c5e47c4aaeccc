package runner

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// passed names the variables that a job process gets from runnerd's own
// environment. Everything else stays out: a job is not to depend on, or leak,
// what the runner happened to be started with.
var passed = []string{
	"PATH", "HOME", "TMPDIR",
	// How to reach the control plane from here.
	"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	// Where artifacts and tools are.
	job.VarRegistry, job.VarRegistryUsername, job.VarRegistryPassword, job.VarRegistryPlainHTTP,
	"NUON_TERRAFORM", "NUON_TERRAFORM_RELEASES", "NUON_TF_CLI_CONFIG_FILE",
}

// start starts the job process: in a session of its own, by which all that it
// starts can be found; with the attempt's lock, by which it is known to live; and
// with files for its output, so that it does not depend on this process. Whoever
// looks at the attempt next sees the process, or that there was one.
func (a *attempt) start() error {
	lock, err := a.dir.TakeLock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := a.dir.MarkStarted(time.Now()); err != nil {
		return err
	}
	command, closeOutput, err := a.command(lock)
	if err != nil {
		return a.fail(err)
	}
	defer closeOutput()
	if err := command.Start(); err != nil {
		return a.fail(fmt.Errorf("start the job process: %w; see to it that the runner's program can be run and the machine has memory", err))
	}
	exited := make(chan struct{})
	a.exited = exited
	go func() { // waits for the job process, whose end it tells; how it ended is in the spool
		defer close(exited)
		_ = command.Wait()
	}()
	return nil
}

func (a *attempt) command(lock *os.File) (*exec.Cmd, func(), error) {
	program := a.runner.Job
	//nolint:noctx // no context may end it: it outlives this process
	command := exec.Command(program[0], append(program[1:len(program):len(program)], "--dir", a.dir.Dir)...)
	command.Dir = a.dir.Dir
	command.Env = a.environment()
	command.ExtraFiles = []*os.File{lock} // becomes number 3
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var opened []*os.File
	closeAll := func() {
		for _, file := range opened {
			_ = file.Close()
		}
	}
	for _, name := range []string{a.dir.StdoutFile(), a.dir.StderrFile()} {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("start the job process: %w", err)
		}
		opened = append(opened, file)
	}
	command.Stdout, command.Stderr = opened[0], opened[1]
	return command, closeAll, nil
}

func (a *attempt) environment() []string {
	var env []string
	for _, name := range append(passed[:len(passed):len(passed)], a.runner.PassEnv...) {
		if value, found := os.LookupEnv(name); found {
			env = append(env, name+"="+value)
		}
	}
	return append(env,
		fmt.Sprintf("%s=%s/runner/v1/jobs/%s/attempts/%d", job.VarURL, strings.TrimRight(a.runner.URL, "/"), a.record.Job, a.record.Attempt),
		job.VarToken+"="+a.record.Token,
		job.VarDir+"="+a.dir.Dir,
		job.VarRoot+"="+a.runner.Dir,
		job.VarLock+"=3",
		job.VarKeyFile+"="+KeyFile(a.runner.Dir),
	)
}
