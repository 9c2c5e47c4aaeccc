package tfbinary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
)

// The variables of the runner's environment that this package reads.
const (
	// EnvExecutable names the executable to use: a name on PATH or a path. It may be another product that
	// understands the same commands, such as tofu.
	EnvExecutable = "NUON_TERRAFORM"
	// EnvConfig names a CLI configuration file to use instead of our own,
	// for example to use a mirror.
	EnvConfig = "NUON_TF_CLI_CONFIG_FILE"
	// EnvReleases is the address of a mirror of the release site.
	EnvReleases = "NUON_TERRAFORM_RELEASES"
)

// Options configures Find.
type Options struct {
	// Root is the absolute path of the runner's own directory. Tools are
	// installed below Root/tools.
	Root string
	// Version is the exact version that is required, such as "1.11.4".
	Version string
	// Product is the program that is required. "" means Terraform, unless EnvExecutable names another.
	Product Product
	// Environ is the runner's environment, as NAME=value; nil means os.Environ.
	Environ []string
	// Logf, when set, writes to the job's log.
	Logf func(format string, args ...any)

	// publicKey replaces the publisher's key in tests.
	publicKey string
}

func (o Options) getenv(name string) string { return jobenv.Lookup(o.Environ, name) }

// Tool is an executable that was found.
type Tool struct {
	// Path is the executable, absolute.
	Path string
	// Version is the version that the executable reports.
	Version string
	// Config is the CLI configuration file that it runs under.
	Config string

	root      string
	ownConfig bool // Config is ours, and so is the plugin cache
	environ   []string
}

// ErrNotFound is wrapped by the error of Find when there is no executable of
// the required version.
var ErrNotFound = errors.New("no such Terraform")

// exactVersion matches the versions that a component may require: no range, and nothing
// that could be a path.
var exactVersion = lazyregexp.New(`^[0-9]{1,5}\.[0-9]{1,5}\.[0-9]{1,5}(-[0-9A-Za-z.]{1,40})?$`)

// Find returns the executable for a version. It tries NUON_TERRAFORM, PATH and the earlier
// downloads, and then downloads it (Terraform only). The error wraps ErrNotFound, and states what was found
// instead and the remedy.
func Find(ctx context.Context, options Options) (Tool, error) {
	if options.Environ == nil {
		options.Environ = os.Environ()
	}
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	if !exactVersion.MatchString(options.Version) {
		return Tool{}, fmt.Errorf("%w: %q is not an exact version; set terraform_version to one like 1.11.4",
			ErrNotFound, options.Version)
	}
	found := Tool{root: options.Root, environ: options.Environ}
	if err := found.configure(); err != nil {
		return Tool{}, err
	}
	if named := options.getenv(EnvExecutable); named != "" {
		return found.findNamed(ctx, named, options)
	}
	if options.Product == OpenTofu {
		return found.findOpenTofu(ctx, options)
	}
	other := "none is on PATH"
	if path, err := lookPath(options.getenv("PATH"), "terraform"); err == nil {
		version, err := found.readVersion(ctx, path)
		if err == nil && version == options.Version {
			return found.withExecutable(path, version), nil
		}
		if err == nil {
			other = fmt.Sprintf("%s is version %s", path, version)
		} else {
			other = err.Error()
		}
	}
	path, err := fetch(ctx, options)
	if err != nil {
		return Tool{}, fmt.Errorf("%w: version %s is asked for, %s, and it cannot be fetched: %w; install Terraform %s on "+
			"the runner's PATH, name an executable in %s, or name a mirror of the release site in %s",
			ErrNotFound, options.Version, other, err, options.Version, EnvExecutable, EnvReleases)
	}
	// Starting a file that was just written may fail for a moment (see package launch).
	// After one successful start no process has it open for writing, so later callers
	// need not handle that.
	if _, err := found.readVersion(ctx, path); err != nil {
		return Tool{}, fmt.Errorf("%w: what was fetched does not run here: %w; remove %s to have it fetched again, or "+
			"install Terraform %s on the runner's PATH",
			ErrNotFound, err, filepath.Dir(path), options.Version)
	}
	return found.withExecutable(path, options.Version), nil
}

// findNamed returns the executable that the runner's owner chose, with any version.
func (t Tool) findNamed(ctx context.Context, name string, options Options) (Tool, error) {
	path, err := lookPath(options.getenv("PATH"), name)
	if err != nil {
		return Tool{}, fmt.Errorf("%w: %s names %s: %w; correct it or unset it", ErrNotFound, EnvExecutable, name, err)
	}
	version, err := t.readVersion(ctx, path)
	if err != nil {
		return Tool{}, fmt.Errorf("%w: %s names %s: %w; correct it or unset it", ErrNotFound, EnvExecutable, name, err)
	}
	if version != options.Version {
		options.Logf("%s names %s, which is version %s; the component asks for %s and gets this one", EnvExecutable,
			path, version, options.Version)
	}
	return t.withExecutable(path, version), nil
}

// findOpenTofu returns the OpenTofu on PATH, with any version: what a component asks for is a version of
// Terraform. It is not fetched.
func (t Tool) findOpenTofu(ctx context.Context, options Options) (Tool, error) {
	path, err := lookPath(options.getenv("PATH"), "tofu")
	if err == nil {
		t.Version, err = t.readVersion(ctx, path)
	}
	if err != nil {
		return Tool{}, fmt.Errorf("%w: OpenTofu is needed, because the component was built with it: %w; install OpenTofu "+
			"on the runner's PATH as tofu, or name an executable in %s", ErrNotFound, err, EnvExecutable)
	}
	if t.Version != options.Version {
		options.Logf("%s is OpenTofu %s; the component asks for %s and gets this one", path, t.Version, options.Version)
	}
	return t.withExecutable(path, t.Version), nil
}

func (t Tool) withExecutable(path, version string) Tool {
	t.Path, t.Version = path, version
	return t
}

// lookPath is like exec.LookPath, with the PATH as a parameter.
func lookPath(list, name string) (string, error) {
	if filepath.Base(name) != name {
		path, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		return exec.LookPath(path)
	}
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue // an executable in the current directory is never used
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w on PATH", name, exec.ErrNotFound)
}
