package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// bare returns a machine with nothing installed.
func bare(t *testing.T) machine {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "nuon-doctor-test-") // the server's user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	t.Setenv("PATH", filepath.Join(home, "bin"))
	values := map[string]string{"HOME": home, "PATH": filepath.Join(home, "bin")}
	getenv := func(name string) string { return values[name] }
	return machine{
		getenv:      getenv,
		environ:     func() []string { return []string{"PATH=" + getenv("PATH")} },
		findProgram: func(string) (string, error) { return "", errors.New("build it (make build)") },
		postgres:    pgcluster.Search{Getenv: getenv, Patterns: []string{}},
		context:     func() (contexts.Context, error) { return contexts.Context{}, errors.New("run `nuon dev`") },
	}
}

// script puts a program on the machine's PATH that prints a text.
func script(t *testing.T, m machine, name, text string) string {
	t.Helper()
	dir := m.getenv("PATH")
	path := filepath.Join(dir, name)
	testprogram.Write(t, path, "#!/bin/sh\nprintf '%s' '"+text+"'\n")
	return path
}

func find(t *testing.T, made Diagnosis, name string) Check {
	t.Helper()
	for _, check := range made.Checks {
		if check.Name == name {
			return check
		}
	}
	t.Fatalf("no check %q in %+v", name, made)
	return Check{}
}

func TestBareMachine(t *testing.T) {
	made := bare(t).diagnose(t.Context())
	got := map[string]Status{}
	for _, check := range made.Checks {
		got[check.Name] = check.Status
		if check.Status == Missing && check.Remedy == "" {
			t.Errorf("%s is missing without a remedy", check.Name)
		}
	}
	want := map[string]Status{
		"reconciler": Missing, "runnerd": Missing, "postgres": Missing, "data directory": OK,
		"terraform": Absent, "image builder": Absent, "git": Absent, "control plane": Absent,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if made.OK {
		t.Error("a bare machine is found well")
	}
}

func TestWellMachine(t *testing.T) {
	m := bare(t)
	m.findProgram = func(name string) (string, error) { return "/opt/nuon/" + name, nil }
	script(t, m, "postgres", "postgres (PostgreSQL) 16.4")
	script(t, m, "initdb", "")
	terraform := script(t, m, "terraform", `{"terraform_version":"1.11.4"}`)
	git := script(t, m, "git", "git version 2.39.5")
	buildah := script(t, m, "buildah", "buildah version 1.28.2")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"org":"dev","org_id":"o","actor":"a","role":"admin","server_version":"1"}`)
	}))
	t.Cleanup(server.Close)
	m.context = func() (contexts.Context, error) { return contexts.Context{URL: server.URL, Token: "t"}, nil }
	made := m.diagnose(t.Context())
	if !made.OK {
		t.Errorf("found missing: %+v", made)
	}
	for name, want := range map[string]string{
		"reconciler":     "/opt/nuon/reconciler",
		"postgres":       "16.4 in " + m.getenv("PATH") + " (by PATH)",
		"terraform":      "1.11.4 at " + terraform,
		"image builder":  "buildah version 1.28.2 at " + buildah,
		"git":            "2.39.5 at " + git + " (nuon does not need it)",
		"control plane":  server.URL + " responds: org dev, role admin, version 1",
		"data directory": filepath.Join(m.getenv("HOME"), ".local/share/nuon/dev") + " (created at the first start)",
	} {
		if check := find(t, made, name); check.Status != OK || check.Found != want || check.Remedy != "" {
			t.Errorf("%s is %+v, want %q", name, check, want)
		}
	}
	m.context = func() (contexts.Context, error) { return contexts.Context{URL: server.URL, Token: "wrong"}, nil }
	if check := find(t, m.diagnose(t.Context()), "control plane"); check.Status != Absent ||
		!strings.Contains(check.Found, "401") {
		t.Errorf("with a wrong token: %+v", check)
	}
}

func TestDatabase(t *testing.T) {
	m := bare(t)
	m.canFetch = true
	if check := m.database(t.Context()); check.Status != Absent || !strings.Contains(check.Found, "downloads") {
		t.Errorf("where it can be fetched: %+v", check)
	}
	home := m.getenv("HOME")
	m.getenv = func(name string) string { return map[string]string{pgcluster.BinariesVariable: home}[name] }
	m.postgres.Getenv = m.getenv
	if check := m.database(t.Context()); check.Status != Missing || !strings.Contains(check.Remedy, "unset") {
		t.Errorf("with a wrong variable: %+v", check)
	}
	m.getenv = func(name string) string { return map[string]string{"DATABASE_URL": "postgres://u:secret@h/d"}[name] }
	if check := m.database(t.Context()); check.Status != OK || strings.Contains(check.Found, "secret") {
		t.Errorf("with DATABASE_URL: %+v", check)
	}
}

func TestDataDir(t *testing.T) {
	if check := checkDir("/dev/null/x"); check.Status != Missing || check.Remedy == "" {
		t.Errorf("below a file: %+v", check)
	}
	m := bare(t)
	m.getenv = func(string) string { return "" }
	check := m.dataDir()
	if os.Geteuid() == 0 {
		if check.Found != "/var/lib/nuon/dev" && check.Found != "/var/lib/nuon/dev (created at the first start)" {
			t.Errorf("root without HOME: %+v", check)
		}
	} else if check.Status != Missing || !strings.Contains(check.Remedy, "--data-dir") {
		t.Errorf("without HOME: %+v", check)
	}
}

func TestPorts(t *testing.T) {
	serve := func(handler http.HandlerFunc) string {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	api := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
	})
	registry := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="nuon registry"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	other := serve(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	usual := defaultPorts()
	for _, test := range []struct {
		port    port
		address string
		status  Status
		want    string
	}{
		{usual[0], free.Addr().String(), OK, "is free"},
		{usual[0], api, OK, "in use by a running nuon"},
		{usual[1], api, OK, "in use by a running nuon"},
		{usual[2], registry, OK, "in use by a running nuon"},
		{usual[0], other, Absent, "another program"},
		{usual[2], other, Absent, "another program"},
		{usual[1], "nonsense", Absent, "nonsense"},
	} {
		test.port.address = test.address
		if check := test.port.check(t.Context()); check.Status != test.status ||
			!strings.Contains(check.Found, test.want) {
			t.Errorf("%s at %s: %+v, want %s, %q", test.port.name, test.address, check, test.status, test.want)
		}
	}
}

func TestReport(t *testing.T) {
	made := Diagnosis{Checks: []Check{{"postgres", Missing, "not found", "run: apt-get install postgresql"},
		{Name: "git", Status: OK, Found: "2.39 \x1b[31m"}}}
	var out bytes.Buffer
	err := report(&console.Console{Out: &out}, made)
	if exitcode.CodeOf(err) != exitcode.Failed || err.Error() != "" {
		t.Errorf("the error is %v, want a bare exit code 1", err)
	}
	want := `missing  postgres                not found
                                 → run: apt-get install postgresql
ok       git                     2.39  [31m

nuon dev cannot start until the missing items are installed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	made.OK = true
	if err := report(&console.Console{Out: &out, Output: "json"}, made); err != nil {
		t.Fatal(err)
	}
	var back Diagnosis
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, back); diff != "" {
		t.Error(diff)
	}
}
