package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// passedVariables names the variables of runnerd's own environment that a job process gets in addition
// to those of package ambient: the locations of artifacts and tools. All others are left out,
// so that a job neither depends on nor leaks the environment that the runner happens to have.
var passedVariables = []string{
	job.VarRegistry, job.VarRegistryPlainHTTP, job.VarChartsPrivate, job.VarModulesPrivate,
	job.VarImagesPrivate,
	tfbinary.EnvExecutable, tfbinary.EnvReleases, tfbinary.EnvConfig,
}

// start starts the job process: in its own session, by which its descendants can be found;
// with the attempt's lock, which shows that it lives; and with files for its output, so that it
// does not depend on this process. The next observation of the attempt sees the process,
// or that there was one.
func (a *attempt) start() error {
	lock, err := a.dir.TakeLock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := a.dir.MarkStarted(time.Now()); err != nil {
		return err
	}
	secrets, err := a.secrets().Pipe()
	if err != nil {
		return a.fail(err)
	}
	defer func() { _ = secrets.Close() }()
	command, closeOutput, err := a.command(lock, secrets)
	if err != nil {
		return a.fail(err)
	}
	defer closeOutput()
	if a.exited, err = a.runner.children.start(command); err != nil {
		return a.fail(fmt.Errorf("start the job process: %w; check that the runner's program can be run and the "+
			"machine has free memory", err))
	}
	return nil
}

func (a *attempt) command(lock, secrets *os.File) (*exec.Cmd, func(), error) {
	program := a.runner.Job
	//nolint:noctx // no context may end it: it outlives this process
	command := exec.Command(program[0], append(program[1:len(program):len(program)], "--dir", a.dir.Dir)...)
	command.Dir = a.dir.Dir
	command.Env = a.environment()
	command.ExtraFiles = []*os.File{lock, secrets} // they become numbers 3 and 4
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
	env := jobenv.JobEnv(os.Environ(), a.runner.kind == string(api.RunnerKindInstall), a.runner.PassEnv)
	for _, name := range passedVariables {
		if value, found := os.LookupEnv(name); found {
			env = append(env, name+"="+value)
		}
	}
	if cgroup, err := a.runner.cgroups.Create(filepath.Base(a.dir.Dir)); err != nil {
		a.log.Warn("cannot put the processes of the job into a control group", "error", err)
	} else if cgroup != "" {
		env = append(env, job.VarCgroup+"="+cgroup)
	}
	if a.runner.jobUser != "" {
		env = append(env, job.VarUser+"="+a.runner.jobUser)
	}
	if a.runner.KubeConfig != "" && a.runner.kind == string(api.RunnerKindInstall) {
		env = append(env, job.VarKubeConfig+"="+a.runner.KubeConfig)
	}
	return append(env, job.GCOff,
		fmt.Sprintf("%s=%s/runner/v1/jobs/%s/attempts/%d", job.VarURL, strings.TrimRight(a.runner.URL, "/"),
			a.record.Job, a.record.Attempt),
		job.VarDir+"="+a.dir.Dir,
		job.VarRoot+"="+a.runner.Dir,
		job.VarLock+"=3",
		job.VarSecrets+"=4",
		job.VarKeyFile+"="+KeyFile(a.runner.Dir),
	)
}

// secrets returns what must not be in the environment of the job process.
func (a *attempt) secrets() job.Secrets {
	secrets := job.Secrets{
		Token:            a.record.Token,
		RegistryUsername: a.runner.RegistryUsername,
		RegistryPassword: string(a.runner.RegistryPassword.Reveal()),
		Environ:          map[string]string{},
	}
	for _, entry := range os.Environ() {
		// The job's spans go to the collector of the runner's operator, with the
		// headers that it needs.
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			secrets.Environ[name] = value
		}
	}
	return secrets
}
