package runner

import (
	"os"
	"strings"

	"github.com/nuon-toolkit/nuon/runnerd/job"
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

// secrets returns what must not be in the environment of the job process.
func (a *attempt) secrets() job.Secrets {
	secrets := job.Secrets{
		Token:            a.record.Load().Token,
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
