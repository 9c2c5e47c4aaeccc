package pgcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/execretry"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// BinariesVariable is the environment variable that names the directory with postgres and initdb.
// If it is set, no other place is searched.
const BinariesVariable = "NUON_POSTGRES_BIN"

// OldestMajor is the oldest PostgreSQL major version that nuon supports.
const OldestMajor = 14

// ErrNoBinaries is wrapped when there are no usable PostgreSQL binaries. The error text names the
// package to install.
var ErrNoBinaries = errors.New("no usable PostgreSQL binaries")

// Binaries is one installation of PostgreSQL.
type Binaries struct {
	// Dir is the directory with postgres and initdb.
	Dir string
	// Version is the version from `postgres --version`, such as "15.18".
	Version string
	// Major is the major version.
	Major int
	// Source describes where the binaries were found: "NUON_POSTGRES_BIN", "PATH", "this machine"
	// or "fetched".
	Source string
}

// Search configures where to search for binaries. The zero value searches everywhere and downloads
// nothing.
type Search struct {
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Patterns are globs of the directories to search; nil means the usual places of Linux
	// distributions and macOS.
	Patterns []string
	// Major, if not zero, is the only accepted major version: that of an existing cluster.
	Major int
	// Fetch downloads binaries if none are found; nil disables that.
	Fetch *Fetch
}

// usualDirs are the directories in which distributions install the server, which is rarely on
// PATH.
var usualDirs = []string{
	"/usr/lib/postgresql/*/bin",                                 // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                          // the PostgreSQL project, for Fedora
	"/usr/libexec/postgresql*",                                  // Alpine
	"/usr/lib/postgresql*/bin",                                  // openSUSE
	"/opt/homebrew/opt/postgresql@*/bin",                        // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",                           // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",           // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin",        // Postgres.app
	"/usr/local/pgsql/bin",                                      // built from source
	"/run/current-system/sw/bin", "/nix/var/nix/profiles/*/bin", // NixOS
}

// Find returns the first usable installation from NUON_POSTGRES_BIN, PATH, the usual places (newest
// version first), an earlier download, and Fetch, in this order. The error wraps ErrNoBinaries.
func Find(ctx context.Context, search Search) (Binaries, error) {
	getenv := search.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if named := getenv(BinariesVariable); named != "" {
		found, err := search.inspect(ctx, named, BinariesVariable)
		if err != nil {
			return Binaries{}, fmt.Errorf(
				"use PostgreSQL of %s=%s: %w: %w; name a directory that holds postgres and initdb, or unset it",
				BinariesVariable, named, ErrNoBinaries, err)
		}
		return found, nil
	}
	var rejected []error
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := search.inspect(ctx, dir, "PATH")
		if err == nil {
			return found, nil
		}
		rejected = append(rejected, ignoreNoPostgres(err))
	}
	all, unusable := search.searchUsualDirs(ctx)
	if len(all) > 0 {
		return newest(all), nil
	}
	rejected = append(rejected, unusable)
	if search.Fetch != nil {
		found, err := search.Fetch.get(ctx, search.Major)
		if err == nil {
			return found, nil
		}
		rejected = append(rejected, err)
	}
	return Binaries{}, noBinaries(search.Major, errors.Join(rejected...))
}

// searchUsualDirs inspects the usual places. It returns the usable installations, and the reasons why others
// are not.
func (s Search) searchUsualDirs(ctx context.Context) ([]Binaries, error) {
	patterns := s.Patterns
	if patterns == nil {
		patterns = usualDirs
	}
	var all []Binaries
	var rejected []error
	for _, pattern := range patterns {
		// An invalid pattern matches nothing.
		dirs, _ := filepath.Glob(pattern)
		for _, dir := range dirs {
			found, err := s.inspect(ctx, dir, "this machine")
			if err != nil {
				rejected = append(rejected, ignoreNoPostgres(err))
				continue
			}
			all = append(all, found)
		}
	}
	return all, errors.Join(rejected...)
}

func newest(all []Binaries) Binaries {
	return slices.MaxFunc(all, func(a, b Binaries) int { return compareVersions(a.Version, b.Version) })
}

func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		left, _ := strconv.Atoi(x)
		right, _ := strconv.Atoi(y)
		return cmp.Compare(left, right)
	})
}

// errNoPostgres marks a directory without PostgreSQL.
var errNoPostgres = errors.New("there is no postgres in it")

func ignoreNoPostgres(err error) error {
	if errors.Is(err, errNoPostgres) {
		return nil
	}
	return err
}

var versionLine = lazyregexp.New(`^postgres \(PostgreSQL\) (\d+)([.0-9]*)`)

// inspect runs the postgres of a directory to determine its version.
func (s Search) inspect(ctx context.Context, dir, source string) (Binaries, error) {
	postgres := filepath.Join(dir, "postgres")
	if _, err := os.Stat(postgres); err != nil {
		return Binaries{}, fmt.Errorf("%s: %w", dir, errNoPostgres)
	}
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return Binaries{}, fmt.Errorf("%s: there is a postgres but no initdb beside it", dir)
	}
	if err := reachableByServer(postgres); err != nil {
		return Binaries{}, err
	}
	output, err := readVersion(ctx, postgres)
	if err != nil {
		return Binaries{}, fmt.Errorf("ask %s for its version: %w", postgres, err)
	}
	parts := versionLine.FindStringSubmatch(string(output))
	if parts == nil {
		return Binaries{}, fmt.Errorf("%s says %.60q instead of a PostgreSQL version", postgres, output)
	}
	// The regular expression matches only digits.
	major, _ := strconv.Atoi(parts[1])
	found := Binaries{Dir: dir, Version: parts[1] + parts[2], Major: major, Source: source}
	switch {
	case major < OldestMajor:
		return Binaries{}, fmt.Errorf("%s is version %s, older than %d", postgres, found.Version, OldestMajor)
	case s.Major != 0 && major != s.Major:
		return Binaries{}, fmt.Errorf("%s is version %s, but the cluster was made by version %d",
			postgres, found.Version, s.Major)
	}
	return found, nil
}

// versionTimeout is the maximum time for postgres to print its version after it has started. It only
// guards against a hang.
const versionTimeout = 2 * time.Minute

// readVersion returns the output of `postgres --version`. The binary may have been unpacked a moment
// ago, so a busy file is retried.
func readVersion(ctx context.Context, postgres string) (output []byte, err error) {
	err = execretry.Retry(ctx, func() (err error) {
		bounded, cancel := context.WithTimeout(ctx, versionTimeout)
		defer cancel()
		output, err = exec.CommandContext(bounded, postgres, "--version").Output()
		return err
	})
	return output, err
}

// noBinaries returns an error that names the package to install.
func noBinaries(major int, rejected error) error {
	release, _ := os.ReadFile("/etc/os-release")
	hint := installHint(string(release), major)
	if rejected == nil {
		return fmt.Errorf("%w on this machine; %s", ErrNoBinaries, hint)
	}
	return fmt.Errorf("%w on this machine (%s); %s",
		ErrNoBinaries, strings.ReplaceAll(rejected.Error(), "\n", "; "), hint)
}
