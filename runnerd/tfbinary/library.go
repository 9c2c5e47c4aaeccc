package tfbinary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// StandIn returns the stand-in that runs the tool for terraform-exec.
func (t Tool) StandIn(grace time.Duration, warn func(format string, args ...any)) subprocess.StandIn {
	made := subprocess.StandIn{Path: t.Path, Name: "Terraform", Grace: grace, Warn: warn}
	if t.Version != "" {
		// The library asks for the version before its first command.
		if said, err := json.Marshal(map[string]string{"terraform_version": t.Version}); err == nil {
			made.Answers = map[string]string{"version -json": string(said)}
		}
	}
	return made
}

// Library returns terraform-exec for a directory. Its commands are called within standIn.Run. environ is the
// complete environment of the tool.
func Library(standIn subprocess.StandIn, dir string, environ map[string]string) (*tfexec.Terraform, error) {
	standIn.Dir = dir
	executable, environ, err := standIn.Command(environ)
	if err != nil {
		return nil, err
	}
	library, err := tfexec.NewTerraform("/", executable)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", filepath.Base(standIn.Path), err)
	}
	if err := library.SetEnv(environ); err != nil {
		return nil, fmt.Errorf("run %s: %w", filepath.Base(standIn.Path), err)
	}
	if err := library.SetWaitDelay(standIn.WaitDelay()); err != nil {
		return nil, fmt.Errorf("run %s: %w", filepath.Base(standIn.Path), err)
	}
	return library, nil
}

// askVersion returns the version that an executable reports.
func (t Tool) askVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	asking := t.withExecutable(path, "").StandIn(versionGrace, func(string, ...any) {})
	library, err := Library(asking, "/", t.Environ(nil))
	if err != nil {
		return "", err
	}
	var (
		said  *version.Version
		wrong bytes.Buffer
	)
	err = asking.Run(ctx, &wrong, func(ctx context.Context, stderr io.Writer) (err error) {
		library.SetStderr(stderr)
		said, _, err = library.Version(ctx, true)
		return err
	})
	var (
		failed *exec.ExitError
		ended  *subprocess.SignalError
	)
	switch {
	case err == nil && said != nil:
		return said.String(), nil
	case errors.As(err, &failed), errors.As(err, &ended), ctx.Err() != nil:
		return "", fmt.Errorf("%s version: %w: %.200s", path, err, strings.TrimSpace(wrong.String()))
	}
	return "", fmt.Errorf("%s does not say its version as Terraform does", path)
}
