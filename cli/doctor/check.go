package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/dev"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
)

// Status is the result of one check.
type Status string

// The results of a check. Only Missing makes the command fail.
const (
	// OK means present and usable.
	OK Status = "ok"
	// Absent means not present, but nuon does not need it or fetches it.
	Absent Status = "absent"
	// Missing means not present, and nuon dev does not work without it.
	Missing Status = "missing"
)

// Check is the result of one check.
type Check struct {
	// Name is what was checked.
	Name string `json:"name"`
	// Status is the result.
	Status Status `json:"status"`
	// Found describes what was found, with version and path.
	Found string `json:"found"`
	// Remedy describes how to get it; empty if nothing needs to be done.
	Remedy string `json:"remedy,omitempty"`
}

// Diagnosis holds the results of all checks. OK is true if nothing is missing.
type Diagnosis struct {
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// checkTimeout is the timeout of each call of a program or a server.
const checkTimeout = 5 * time.Second

// machine is the environment that the checks examine.
type machine struct {
	getenv      func(string) string
	environ     func() []string
	findProgram func(string) (string, error)
	postgres    pgcluster.Search
	canFetch    bool
	context     func() (contexts.Context, error)
	ports       []port
}

// port is one listen address of nuon dev, with a request that shows whether
// nuon itself listens there.
type port struct {
	name, flag, address, path string
	ours                      func(*http.Response) bool
}

// defaultPorts returns the default addresses of nuon dev.
func defaultPorts() []port {
	isProblem := func(answer *http.Response) bool {
		return strings.HasPrefix(answer.Header.Get("Content-Type"), "application/problem+json")
	}
	isRegistry := func(answer *http.Response) bool {
		return strings.Contains(answer.Header.Get("WWW-Authenticate"), "nuon registry")
	}
	return []port{
		{"port of the API", "--listen", dev.DefaultListen, "/v1/whoami", isProblem},
		{"port of the runner API", "--runner-listen", dev.DefaultRunnerListen, "/runner/v1/lease", isProblem},
		{"port of the registry", "--registry-listen", dev.DefaultRegistryListen, "/v2/", isRegistry},
	}
}

// diagnose runs all checks, in the order in which nuon dev needs things.
func (m machine) diagnose(ctx context.Context) Diagnosis {
	checks := []Check{m.program("reconciler"), m.program("runnerd"), m.database(ctx), m.dataDir()}
	for _, each := range m.ports {
		checks = append(checks, each.check(ctx))
	}
	checks = append(checks, m.terraform(ctx), m.imageBuilder(ctx), m.git(ctx), m.controlPlane(ctx))
	made := Diagnosis{OK: true, Checks: checks}
	for _, check := range checks {
		made.OK = made.OK && check.Status != Missing
	}
	return made
}

// program checks for another program of nuon.
func (m machine) program(name string) Check {
	found, err := m.findProgram(name)
	if err != nil {
		return Check{name, Missing, "not found", err.Error()}
	}
	return Check{Name: name, Status: OK, Found: found}
}

// database checks for a PostgreSQL that nuon dev can start, unless DATABASE_URL is set.
func (m machine) database(ctx context.Context) Check {
	const name = "postgres"
	if m.getenv("DATABASE_URL") != "" {
		return Check{Name: name, Status: OK, Found: "DATABASE_URL is set, so nuon dev starts none"}
	}
	found, err := pgcluster.Find(ctx, m.postgres)
	switch {
	case err == nil:
		return Check{Name: name, Status: OK,
			Found: fmt.Sprintf("%s in %s (by %s)", found.Version, found.Dir, found.Source)}
	case m.getenv(pgcluster.BinariesVariable) != "":
		return Check{name, Missing, err.Error(),
			fmt.Sprintf("unset %s, or set it to the directory of postgres and initdb", pgcluster.BinariesVariable)}
	case m.canFetch:
		return Check{name, Absent, "not found; nuon dev downloads it once",
			"without network, " + pgcluster.InstallHint()}
	default:
		return Check{name, Missing, "not found", pgcluster.InstallHint()}
	}
}

// dataDir checks whether nuon dev can store its data in the default directory.
func (m machine) dataDir() Check {
	dir, err := dev.DefaultDataDir(m.getenv)
	if err != nil {
		return Check{"data directory", Missing, "none", err.Error()}
	}
	return checkDir(dir)
}

func checkDir(dir string) Check {
	const name = "data directory"
	if err := pgcluster.CheckDir(filepath.Join(dir, "postgres")); err != nil {
		return Check{name, Missing, dir, err.Error()}
	}
	existing := nearestExisting(dir)
	const writeAndPass = 2 | 1 // W_OK and X_OK of access(2)
	if err := syscall.Access(existing, writeAndPass); err != nil {
		return Check{name, Missing, fmt.Sprintf("%s: cannot write to %s: %v", dir, existing, err),
			"set another directory with nuon dev --data-dir"}
	}
	if existing != dir {
		return Check{Name: name, Status: OK, Found: dir + " (created at the first start)"}
	}
	return Check{Name: name, Status: OK, Found: dir}
}

// nearestExisting returns the deepest existing directory on the path to dir.
func nearestExisting(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return at
		}
	}
}

// check reports whether a port is free or used by nuon. A port that another
// program uses is no failure, because a flag selects another port.
func (p port) check(ctx context.Context) Check {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.address)
	if err == nil {
		err = listener.Close()
	}
	if err == nil {
		return Check{Name: p.name, Status: OK, Found: p.address + " is free"}
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return Check{p.name, Absent, err.Error(), "choose another with " + p.flag}
	}
	if p.answers(ctx) {
		return Check{Name: p.name, Status: OK, Found: p.address + " is in use by a running nuon"}
	}
	return Check{p.name, Absent, p.address + " is in use by another program",
		"stop that program, or choose another port with nuon dev " + p.flag}
}

func (p port) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	host := p.address
	if strings.HasPrefix(host, ":") {
		host = "127.0.0.1" + host
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+p.path, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	return p.ours(answer)
}

// terraform checks for terraform or tofu, which runners fetch if it is not installed.
func (m machine) terraform(ctx context.Context) Check {
	names := []string{"terraform", "tofu"}
	if named := m.getenv("NUON_TERRAFORM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		said, err := runProgram(ctx, path, "version", "-json")
		var version struct {
			Version string `json:"terraform_version"`
		}
		if err == nil && json.Unmarshal(said, &version) == nil && version.Version != "" {
			return Check{Name: "terraform", Status: OK, Found: version.Version + " at " + path}
		}
		return Check{"terraform", Absent, path + " does not report its version",
			"check the output of `" + path + " version`; a runner downloads the version that a component requires"}
	}
	return Check{"terraform", Absent, "not found; a runner downloads the version that a component requires",
		"without network, install it, or name it in NUON_TERRAFORM"}
}

// imageBuilder checks for a program that builds images, which only components of type docker_build need.
func (m machine) imageBuilder(ctx context.Context) Check {
	const name = "image builder"
	found, err := imagebuilder.Find(ctx, m.environ())
	var missing *imagebuilder.NotFoundError
	switch {
	case err == nil:
		return Check{Name: name, Status: OK, Found: found.Version + " at " + found.Path}
	case errors.As(err, &missing):
		return Check{name, Absent, "none works; only components of type docker_build need one (" +
			strings.Join(missing.Reasons, "; ") + ")", imagebuilder.Remedy}
	}
	return Check{name, Absent, err.Error(), ""}
}

// git checks for git, for information only: nuon contains its own git client.
func (m machine) git(ctx context.Context) Check {
	path, err := exec.LookPath("git")
	if err != nil {
		return Check{Name: "git", Status: Absent, Found: "not found; nuon does not need it, but you may"}
	}
	said, err := runProgram(ctx, path, "--version")
	if err != nil {
		return Check{Name: "git", Status: Absent, Found: path + " does not report its version; nuon does not need it"}
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(said)), "git version ")
	return Check{Name: "git", Status: OK, Found: version + " at " + path + " (nuon does not need it)"}
}

// runProgram runs a program with a timeout and returns its output.
func runProgram(ctx context.Context, path string, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, arguments...)
	command.WaitDelay = time.Second
	command.Stderr = io.Discard
	return command.Output()
}

// controlPlane checks whether the control plane of the current context accepts its token.
func (m machine) controlPlane(ctx context.Context) Check {
	const name = "control plane"
	chosen, err := m.context()
	if err != nil {
		return Check{name, Absent, "none selected", err.Error()}
	}
	client, err := apiclient.New(chosen)
	if err != nil {
		return Check{name, Absent, chosen.URL, err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	who, err := apiclient.Decode[api.Whoami](client.Whoami(ctx))
	var problem *apiclient.Problem
	switch {
	case err == nil:
		return Check{Name: name, Status: OK,
			Found: fmt.Sprintf("%s responds: org %s, role %s, version %s",
				chosen.URL, who.Org, who.Role, who.ServerVersion)}
	case errors.As(err, &problem):
		return Check{name, Absent, fmt.Sprintf("%s responds: %s", chosen.URL, oneLine(err)),
			"start nuon dev, or select another context with `nuon context use`"}
	default:
		return Check{name, Absent, chosen.URL + " does not respond",
			"start nuon dev, or select another context with `nuon context use`"}
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
