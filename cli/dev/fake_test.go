package dev

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
)

// TestMain makes the test binary a small fake of another program if it runs under
// that program's name. These tests cover the supervision; the stories in examples cover
// the real programs together.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "reconciler":
		os.Exit(fakeReconciler(os.Args[1:]))
	case "runnerd":
		os.Exit(fakeRunner(os.Args[1:]))
	case "nuon":
		os.Exit(fakeNuon())
	}
	os.Exit(m.Run())
}

// note appends a line to the event file in one write, so that lines of several
// processes do not mix.
func note(format string, a ...any) {
	file, err := os.OpenFile(os.Getenv("FAKE_EVENTS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer func() { _ = file.Close() }()
	_, _ = fmt.Fprintf(file, format+"\n", a...)
}

// flag returns the value of a flag.
func flag(arguments []string, name string) string {
	if at := slices.Index(arguments, name); at >= 0 && at+1 < len(arguments) {
		return arguments[at+1]
	}
	return ""
}

// told reports whether a file with this name exists in the orders directory,
// which makes the fakes misbehave.
func told(order string) bool {
	_, err := os.Stat(filepath.Join(os.Getenv("FAKE_ORDERS"), order))
	return err == nil
}

func fakeReconciler(arguments []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	if arguments[0] == "bootstrap" {
		note("bootstrap %s", flag(arguments, "--org"))
		fmt.Fprintln(os.Stderr, "bootstrapping")
		if told("bootstrap-fails") {
			fmt.Fprintln(os.Stderr, "no such database")
			return 1
		}
		fmt.Printf(
			`{"org":%q,"token":"token-of-%s","registry":{"vendor":{"repository_prefix":"%[1]s/vendor","username":"v","password":"vp"},"install":{"repository_prefix":"%[1]s/install","username":"i","password":"ip"}}}`, flag(arguments, "--org"), flag(arguments, "--org"))
		return 0
	}
	note("reconciler start %d database=%s remotes=%s", os.Getpid(), flag(arguments, "--database-url"),
		flag(arguments, "--allow-file-remotes"))
	fmt.Fprintln(os.Stderr, "reconciler says hello")
	if told("reconciler-fails") {
		fmt.Fprint(os.Stderr, "cannot migrate")
		return 3
	}
	control, err := net.Listen("tcp", flag(arguments, "--listen"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() { _ = http.Serve(control, fakeAPI()) }()
	content, _ := json.Marshal(devcontract.Ready{ControlURL: "http://" + control.Addr().String(),
		RunnerURL: "http://127.0.0.1:7", Registry: "127.0.0.1:8"})
	if told("reconciler-hangs") {
		<-stop
		return 0
	}
	if err := os.WriteFile(flag(arguments, "--ready-file"), content, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-stop
	if told("reconciler-deaf") {
		note("reconciler is deaf")
		select {}
	}
	note("reconciler stop")
	return 0
}

// fakeAPI answers the two calls that nuon dev makes.
func fakeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/whoami", func(w http.ResponseWriter, r *http.Request) {
		org, known := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
		if !known || told("token-forgotten") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, `{"org":%q,"org_id":"org_1","actor":"a","role":"admin","server_version":"v"}`, org)
	})
	mux.HandleFunc("POST /v1/runners", func(w http.ResponseWriter, r *http.Request) {
		var wanted struct {
			Name, Kind string
			Shared     bool
		}
		_ = json.NewDecoder(r.Body).Decode(&wanted)
		if wanted.Name == "build" && told("build-is-taken") {
			w.WriteHeader(http.StatusConflict)
			return
		}
		note("register %s %s shared=%v", wanted.Name, wanted.Kind, wanted.Shared)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"runner":{"id":"run_1","name":%q,"kind":%q},"registration_token":"reg-%s"}`,
			wanted.Name, wanted.Kind, wanted.Name)
	})
	return mux
}

func fakeRunner(arguments []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	name, dir := flag(arguments, "--name"), flag(arguments, "--dir")
	note("runner %s start %d at %s token=%s registry=%s user=%s password=%s plain=%s database=%s", name, os.Getpid(),
		flag(arguments, "--url"),
		os.Getenv("NUON_REGISTRATION_TOKEN"), os.Getenv("NUON_REGISTRY"), os.Getenv("NUON_REGISTRY_USERNAME"),
		os.Getenv("NUON_REGISTRY_PASSWORD"),
		os.Getenv("NUON_REGISTRY_PLAIN_HTTP"), os.Getenv("DATABASE_URL"))
	if err := os.WriteFile(filepath.Join(dir, runnerFile), []byte(`{}`), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("on standard output \x1b[31m")
	<-stop
	note("runner %s stop", name)
	return 0
}

// fakeNuon runs nuon dev as a separate process, which can be killed.
func fakeNuon() int {
	options := Options{
		Console: &console.Console{Out: os.Stdout, Err: os.Stderr},
		DataDir: os.Getenv("FAKE_DATA"), ReadyFile: os.Getenv("FAKE_READY"), Org: "dev",
		Listen: "127.0.0.1:0", RunnerListen: "127.0.0.1:0", RegistryListen: "127.0.0.1:0",
		Getenv:      os.Getenv,
		FindProgram: func(name string) (string, error) { return filepath.Join(os.Getenv("FAKE_PROGRAMS"), name), nil },
		SaveContext: func(string, contexts.Context) (Saved, error) { return Saved{File: "somewhere"}, nil },
	}
	if err := Run(neverEnding(), options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
