package imagebuilder_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// install writes programs as shell scripts into a directory and returns an environment with it as PATH.
func install(t *testing.T, scripts map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		testprogram.Write(t, filepath.Join(dir, name), "#!/bin/sh\n"+script)
	}
	return []string{"PATH=relative:" + dir}
}

// TestFind checks which builder is found, and its version.
func TestFind(t *testing.T) {
	const (
		buildctl = `case "$1" in debug) echo worker;; *) echo "buildctl 1.2"; echo more;; esac`
		buildx   = `case "$2" in inspect) echo "Name: b"; echo "Driver: docker-container";; *) echo buildx 3.4;; esac`
		buildah  = "echo; echo '  buildah 5.6  '"
	)
	for name, c := range map[string]struct {
		scripts map[string]string
		want    imagebuilder.Name
		version string
	}{
		"all": {map[string]string{"buildctl": buildctl, "docker": buildx, "buildah": buildah},
			imagebuilder.BuildKit, "buildctl 1.2"},
		"buildx":  {map[string]string{"docker": buildx, "buildah": buildah}, imagebuilder.Buildx, "buildx 3.4"},
		"buildah": {map[string]string{"buildah": buildah}, imagebuilder.Buildah, "buildah 5.6"},
		"buildctl without its daemon": {map[string]string{"buildctl": `test "$1" = --version`, "buildah": buildah},
			imagebuilder.Buildah, "buildah 5.6"},
		"the builder of docker itself": {map[string]string{"docker": "echo 'Driver:   docker'", "buildah": buildah},
			imagebuilder.Buildah, "buildah 5.6"},
		"a broken builder": {map[string]string{"docker": "echo 'Driver: remote'; echo 'Error: no route'",
			"buildah": buildah}, imagebuilder.Buildah, "buildah 5.6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := install(t, c.scripts)
			got, err := imagebuilder.Find(t.Context(), environ)
			if err != nil || got.Name != c.want || got.Version != c.version || !filepath.IsAbs(got.Path) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestNotFound checks that the error states why each builder does not work, with a bounded part of what it prints.
func TestNotFound(t *testing.T) {
	t.Parallel()
	const long = "i=0; while [ $i -lt 2000 ]; do echo 'a line of an output that does not end'; i=$((i+1)); done\nexit 1"
	environ := install(t, map[string]string{"buildctl": long, "docker": "echo first >&2; echo last >&2; exit 3"})
	_, err := imagebuilder.Find(t.Context(), environ)
	var missing *imagebuilder.NotFoundError
	if !errors.As(err, &missing) || len(missing.Reasons) != 3 || len(err.Error()) > 1000 {
		t.Fatalf("%.500v", err)
	}
	for i, want := range []string{"buildctl: ", "docker: last", "buildah: not installed"} {
		if !strings.HasPrefix(missing.Reasons[i], want) {
			t.Errorf("reason %d is %q, want %q", i, missing.Reasons[i], want)
		}
	}
	if !strings.Contains(err.Error(), imagebuilder.Remedy) {
		t.Errorf("no remedy: %v", err)
	}
	for name, environ := range map[string][]string{"no PATH": nil, "an empty PATH": {"PATH="}, "only .": {"PATH=."}} {
		if _, err := imagebuilder.Find(t.Context(), environ); !errors.As(err, &missing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLastLineIsBounded checks that a program which fails with one endless line does not fill the error.
func TestLastLineIsBounded(t *testing.T) {
	t.Parallel()
	environ := install(t, map[string]string{"buildah": "head -c 200000 /dev/zero | tr '\\0' x; exit 1"})
	environ[0] += ":/usr/bin:/bin"
	_, err := imagebuilder.Find(t.Context(), environ)
	if err == nil || len(err.Error()) > 2000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// TestCanceled checks that the end of the context is no missing builder.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := imagebuilder.Find(ctx, install(t, map[string]string{"buildah": "echo 1"}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
