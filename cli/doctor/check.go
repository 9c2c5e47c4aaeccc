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

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/dev"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
)

// Status is the outcome of one check.
type Status string

// The outcomes. Only Missing makes the command fail.
const (
	// OK: it is there and can be used.
	OK Status = "ok"
	// Absent: it is not there, and nuon can do without or gets it by itself.
	Absent Status = "absent"
	// Missing: it is not there, and nuon dev does not work without.
	Missing Status = "missing"
)

// Check is one line of the answer.
type Check struct {
	// Name is what was looked for.
	Name string `json:"name"`
	// Status says whether it is there.
	Status Status `json:"status"`
	// Found says what was found, with version and place.
	Found string `json:"found"`
	// Remedy says how to get it; empty when nothing needs to be done.
	Remedy string `json:"remedy,omitempty"`
}

// Diagnosis is the whole answer; OK when nothing is missing.
type Diagnosis struct {
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// patience bounds each question that is put to a program or a server.
const patience = 5 * time.Second

// machine is what the checks look at.
type machine struct {
	getenv      func(string) string
	findProgram func(string) (string, error)
	postgres    pgcluster.Search
	canFetch    bool
	context     func() (contexts.Context, error)
	ports       []port
}

// port is one address of nuon dev, and how to tell that nuon itself answers there.
type port struct {
	name, flag, address, path string
	ours                      func(*http.Response) bool
}

// usualPorts are the defaults of nuon dev.
func usualPorts() []port {
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

// diagnose makes all checks, in the order in which nuon dev needs things.
func (m machine) diagnose(ctx context.Context) Diagnosis {
	checks := []Check{m.program("reconciler"), m.program("runnerd"), m.database(ctx), m.dataDir()}
	for _, each := range m.ports {
		checks = append(checks, each.check(ctx))
	}
	checks = append(checks, m.terraform(ctx), m.git(ctx), m.controlPlane(ctx))
	made := Diagnosis{OK: true, Checks: checks}
	for _, check := range checks {
		made.OK = made.OK && check.Status != Missing
	}
	return made
}

// program looks for another program of nuon.
func (m machine) program(name string) Check {
	found, err := m.findProgram(name)
	if err != nil {
		return Check{name, Missing, "not there", err.Error()}
	}
	return Check{Name: name, Status: OK, Found: found}
}

// database looks for a PostgreSQL to start, unless a person brings one.
func (m machine) database(ctx context.Context) Check {
	const name = "postgres"
	if m.getenv("DATABASE_URL") != "" {
		return Check{Name: name, Status: OK, Found: "DATABASE_URL is set, so nuon dev starts none"}
	}
	found, err := pgcluster.Find(ctx, m.postgres)
	switch {
	case err == nil:
		return Check{Name: name, Status: OK, Found: fmt.Sprintf("%s in %s (by %s)", found.Version, found.Dir, found.Source)}
	case m.getenv(pgcluster.BinariesVariable) != "":
		return Check{name, Missing, err.Error(), fmt.Sprintf("unset %s, or set it to the directory of postgres and initdb", pgcluster.BinariesVariable)}
	case m.canFetch:
		return Check{name, Absent, "not there; nuon dev fetches it, over the network, once", "without network, " + pgcluster.InstallHint()}
	default:
		return Check{name, Missing, "not there", pgcluster.InstallHint()}
	}
}

// dataDir looks whether nuon dev could keep its data in the default place.
func (m machine) dataDir() Check {
	dir, err := dev.DefaultDataDir(m.getenv)
	if err != nil {
		return Check{"data directory", Missing, "none", err.Error()}
	}
	return checkDir(dir)
}

func checkDir(dir string) Check {
	const name = "data directory"
	if err := pgcluster.CheckPlace(filepath.Join(dir, "postgres")); err != nil {
		return Check{name, Missing, dir, err.Error()}
	}
	existing := nearest(dir)
	const writeAndPass = 2 | 1 // W_OK and X_OK of access(2)
	if err := syscall.Access(existing, writeAndPass); err != nil {
		return Check{name, Missing, fmt.Sprintf("%s: may not write in %s: %v", dir, existing, err), "give nuon dev another one with --data-dir"}
	}
	if existing != dir {
		return Check{Name: name, Status: OK, Found: dir + " (made at the first start)"}
	}
	return Check{Name: name, Status: OK, Found: dir}
}

// nearest gives the deepest directory on the way to dir that exists.
func nearest(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return at
		}
	}
}

// check tells whether a port is free or used by nuon. Another's use is no failure:
// a flag chooses another port.
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
		return Check{Name: p.name, Status: OK, Found: p.address + " is in use by nuon, which runs"}
	}
	return Check{p.name, Absent, p.address + " is in use by another program", "stop that one, or choose another port with nuon dev " + p.flag}
}

func (p port) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// terraform looks for terraform or tofu, which runners fetch when it is not there.
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
		said, err := ask(ctx, path, "version", "-json")
		var version struct {
			Version string `json:"terraform_version"`
		}
		if err == nil && json.Unmarshal(said, &version) == nil && version.Version != "" {
			return Check{Name: "terraform", Status: OK, Found: version.Version + " at " + path}
		}
		return Check{"terraform", Absent, path + " does not tell its version", "look at what `" + path + " version` says; a runner fetches the version that a component asks for"}
	}
	return Check{"terraform", Absent, "not there; a runner fetches the version that a component asks for", "without network, install it, or name it in NUON_TERRAFORM"}
}

// git is only told: nuon speaks git by itself.
func (m machine) git(ctx context.Context) Check {
	path, err := exec.LookPath("git")
	if err != nil {
		return Check{Name: "git", Status: Absent, Found: "not there; nuon does not need it, you may"}
	}
	said, err := ask(ctx, path, "--version")
	if err != nil {
		return Check{Name: "git", Status: Absent, Found: path + " does not tell its version; nuon does not need it"}
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(said)), "git version ")
	return Check{Name: "git", Status: OK, Found: version + " at " + path + " (nuon does not need it)"}
}

// ask runs a program for a line of output, in time.
func ask(ctx context.Context, path string, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := exec.CommandContext(ctx, path, arguments...)
	command.WaitDelay = time.Second
	command.Stderr = io.Discard
	return command.Output()
}

// controlPlane asks the current context who we are.
func (m machine) controlPlane(ctx context.Context) Check {
	const name = "control plane"
	chosen, err := m.context()
	if err != nil {
		return Check{name, Absent, "none is chosen", err.Error()}
	}
	client, err := remote.New(chosen)
	if err != nil {
		return Check{name, Absent, chosen.URL, err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	who, err := remote.Get[api.Whoami](client.Whoami(ctx))
	var problem *remote.Problem
	switch {
	case err == nil:
		return Check{Name: name, Status: OK, Found: fmt.Sprintf("%s answers: org %s, role %s, version %s", chosen.URL, who.Org, who.Role, who.ServerVersion)}
	case errors.As(err, &problem):
		return Check{name, Absent, fmt.Sprintf("%s answers: %s", chosen.URL, oneLine(err)), "start nuon dev, or choose another context with `nuon context use`"}
	default:
		return Check{name, Absent, chosen.URL + " does not answer", "start nuon dev, or choose another context with `nuon context use`"}
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
