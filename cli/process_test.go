package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// asNuon is the environment variable with the arguments, as JSON, that makes
// the test binary run as nuon.
const asNuon = "NUON_TEST_ARGUMENTS"

// TestAsNuon is not a test: the test binary runs it to act as the nuon program for TestProcess.
func TestAsNuon(t *testing.T) {
	text, is := os.LookupEnv(asNuon)
	if !is {
		return
	}
	var args []string
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		t.Fatal(err)
	}
	os.Args = append([]string{"nuon"}, args...)
	main()
}

// nuon runs the program in a separate process against a control plane and returns stdout,
// stderr and the exit code.
func nuon(t *testing.T, url string, args ...string) (out, remarks string, code int) {
	t.Helper()
	c := command(t, url, args...)
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	var failed *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

// TestProcess checks what a shell sees: the exit code, results on stdout, messages on
// stderr, and no terminal control sequences in either.
func TestProcess(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/apps":
			_ = json.NewEncoder(w).Encode(api.AppList{Items: []api.App{{Name: "hello", Repository: "r\x1b]0;x\x07"}}})
		default:
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(api.Problem{Status: http.StatusConflict, Code: "odd",
				Title: "odd\x1b[2J\u202e title", Detail: "do\rthis"})
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		args         []string
		code         int
		out, remarks string
	}{
		{[]string{"--version"}, 0, "nuon " + version.Number + "\n", ""},
		{[]string{"apps", "list"}, 0, "hello\t-\tr ]0;x \t\n", ""},
		{[]string{"apps", "get", "x"}, 1, "", "error: odd [2J  title\n  do this\n"},
		{[]string{"nonsense"}, 2, "", "error: unknown command \"nonsense\" for \"nuon\"\nUsage: nuon"},
		{[]string{"apps", "list", "--colour"}, 2, "",
			"error: unknown flag: --colour\nUsage: nuon apps list [flags]\nRun `nuon apps list --help` for more information.\n"},
		{[]string{"approve"}, 2, "", "error: name what to approve"},
	} {
		out, remarks, code := nuon(t, s.URL, c.args...)
		if code != c.code || out != c.out || !strings.HasPrefix(remarks, c.remarks) ||
			c.remarks == "" && remarks != "" {
			t.Errorf("nuon %v: exit code %d, printed %q, said %q; want %d, %q, %q", c.args, code, out, remarks,
				c.code, c.out, c.remarks)
		}
	}
	s.Close()
	if _, remarks, code := nuon(t, s.URL, "apps", "list"); code != 5 ||
		!strings.HasPrefix(remarks, "error: cannot reach the control plane") {
		t.Errorf("nobody there: exit code %d, said %q", code, remarks)
	}
}

// TestVersionBeforeLibraries checks that the version is printed before linked libraries are initialized, and
// as main prints it.
func TestVersionBeforeLibraries(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "--version")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1") // a line for each package, on stderr
	var inits bytes.Buffer
	c.Stderr = &inits
	out, err := c.Output()
	if err != nil {
		t.Fatal(err, inits.String())
	}
	if printed, _, _ := nuon(t, "", "--version"); string(out) != printed {
		t.Errorf("before the libraries it prints %q, in main %q", out, printed)
	}
	if !strings.Contains(inits.String(), "init os @") {
		t.Errorf("no trace of the initializations:\n%s", &inits)
	}
	for _, library := range []string{
		"github.com/charmbracelet/bubbletea", "github.com/spf13/cobra", "k8s.io/", "net/http",
	} {
		if strings.Contains(inits.String(), "init "+library) {
			t.Errorf("%s was initialized before the version was printed:\n%s", library, &inits)
		}
	}
}
