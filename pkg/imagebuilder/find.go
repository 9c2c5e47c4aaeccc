package imagebuilder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// Name identifies a builder.
type Name string

// The builders, in the order in which Find tries them.
const (
	BuildKit Name = "buildctl"
	Buildx   Name = "docker"
	Buildah  Name = "buildah"
)

// Builder is a program that builds images.
type Builder struct {
	Name    Name
	Path    string
	Version string // the first line that it prints about itself
}

// Variables are those with which the owner of a machine configures the builders.
var Variables = []string{
	"BUILDKIT_HOST", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
	"BUILDX_BUILDER", "BUILDX_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "CONTAINERS_CONF",
}

// Remedy states how to get a builder.
const Remedy = "install Buildah (apt install buildah, dnf install buildah), or start buildkitd and install buildctl, " +
	"or install docker with buildx"

// NotFoundError reports that no builder works, and why each does not.
type NotFoundError struct {
	Reasons []string
}

func (e *NotFoundError) Error() string {
	return "no program that builds images works here (" + strings.Join(e.Reasons, "; ") + "); " + Remedy
}

// probeTimeout bounds each call of a program.
const probeTimeout = 10 * time.Second

// probes are the calls that show whether a builder works. The last one prints its version.
var probes = map[Name][][]string{
	BuildKit: {{"debug", "workers"}, {"--version"}},
	Buildx:   {{"buildx", "inspect"}, {"buildx", "version"}},
	Buildah:  {{"--version"}},
}

// Find returns the first builder on the PATH of an environment that works. The error is a
// *NotFoundError, or that of ctx.
func Find(ctx context.Context, environ []string) (Builder, error) {
	missing := &NotFoundError{}
	for _, name := range []Name{BuildKit, Buildx, Buildah} {
		builder, err := probe(ctx, name, environ)
		if err == nil {
			return builder, nil
		}
		if ctx.Err() != nil {
			return Builder{}, ctx.Err()
		}
		missing.Reasons = append(missing.Reasons, string(name)+": "+err.Error())
	}
	return Builder{}, missing
}

var errNotInstalled = errors.New("not installed")

func probe(ctx context.Context, name Name, environ []string) (Builder, error) {
	path, found := lookUp(string(name), environ)
	if !found {
		return Builder{}, errNotInstalled
	}
	builder := Builder{Name: name, Path: path}
	for _, arguments := range probes[name] {
		output, err := run(ctx, path, environ, arguments)
		if err != nil {
			return Builder{}, err
		}
		if arguments[len(arguments)-1] == "inspect" {
			if err := checkBuildx(output); err != nil {
				return Builder{}, err
			}
		}
		builder.Version = netguard.OneLine(firstLine(output))
	}
	return builder, nil
}

// checkBuildx returns an error if the selected builder of docker buildx cannot build, or cannot write an
// image to a directory.
func checkBuildx(inspected string) error {
	for line := range strings.Lines(inspected) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); {
		case key == "Error":
			return errors.New(value)
		case key == "Driver" && value == "docker":
			return errors.New("its builder has the driver docker, which writes no images of the OCI; " +
				`run "docker buildx create --use"`)
		}
	}
	return nil
}

// run returns what a program prints, or as an error the last line that it prints when it fails.
func run(ctx context.Context, path string, environ, arguments []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, arguments...) //nolint:gosec // a builder that the machine's owner installed
	command.Env, command.WaitDelay = environ, time.Second
	output := &limited{}
	command.Stdout, command.Stderr = output, output
	if err := command.Run(); err != nil {
		if last := netguard.OneLine(lastLine(output.text.String())); last != "" {
			return "", errors.New(last)
		}
		return "", fmt.Errorf("%s %s: %w", filepath.Base(path), strings.Join(arguments, " "), err)
	}
	return output.text.String(), nil
}

// limited keeps the start of an output.
type limited struct{ text bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	const most = 64 << 10
	_, err := l.text.Write(p[:min(len(p), most-min(most, l.text.Len()))])
	return len(p), err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// lookUp finds a program on the PATH of an environment.
func lookUp(name string, environ []string) (path string, found bool) {
	i := slices.IndexFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, "PATH=") })
	if i < 0 {
		return "", false
	}
	for _, place := range filepath.SplitList(strings.TrimPrefix(environ[i], "PATH=")) {
		if path, err := exec.LookPath(filepath.Join(place, name)); filepath.IsAbs(place) && err == nil {
			return path, true
		}
	}
	return "", false
}
