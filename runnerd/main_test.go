package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/hardening"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

func TestCommandLine(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no url":      {[]string{"run", "--dir", t.TempDir()}, "url"},
		"no dir":      {[]string{"run", "--url", "http://127.0.0.1:1"}, "dir"},
		"nothing":     {[]string{"run"}, "url"},
		"no token":    {[]string{"run", "--url", "http://127.0.0.1:1", "--dir", t.TempDir()}, "NUON_REGISTRATION_TOKEN"},
		"job by hand": {[]string{"job"}, "started by runnerd run"},
		"own variable": {[]string{"run", "--url", "http://127.0.0.1:1", "--dir", t.TempDir(), "--pass-env", "TF_LOG"},
			"--pass-env: TF_LOG cannot be passed on"},
		"too many words":  {[]string{"run", "x"}, "unknown command \"x\" for \"runnerd run\"\nRun `runnerd run --help` for"},
		"no such command": {[]string{"version"}, "unknown command \"version\" for \"runnerd\"\nRun `runnerd --help` for"},
		"nearly one":      {[]string{"chek"}, "\tcheck\nRun `runnerd --help` for"},
		"no such flag":    {[]string{"check", "--no"}, "unknown flag: --no\nRun `runnerd check --help` for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(varToken, "")
			t.Setenv(job.VarDir, "")
			root := newRoot()
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetErr(&out)
			root.SetArgs(test.args)
			if err := execute(root); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestABadURLIsSaidAtOnce(t *testing.T) {
	t.Setenv(varToken, "token")
	root := newRoot()
	root.SetArgs([]string{"run", "--url", "127.0.0.1:7111", "--dir", t.TempDir()})
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "https://host:port") {
		t.Errorf("got %v", err)
	}
}

func TestNoCoreFiles(t *testing.T) {
	if err := hardening.HideMemory(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "ulimit -c; ulimit -Hc").Output()
	if err != nil || string(out) != "0\n0\n" {
		t.Errorf("what this process starts may leave cores: %q %v", out, err)
	}
}

func TestEveryKindHasAHandler(t *testing.T) {
	known := handlers()
	for _, kind := range []api.JobSpecKind{api.JobSpecKindBuild, api.JobSpecKindPlan, api.JobSpecKindApply,
		api.JobSpecKindAction} {
		if known[kind] == nil {
			t.Errorf("no handler for jobs of kind %q", kind)
		}
	}
}

func TestCheckAndStatus(t *testing.T) {
	good, bad := filepath.Join(t.TempDir(), "runner.toml"), filepath.Join(t.TempDir(), "runner.toml")
	for path, text := range map[string]string{good: "jobs = [\"plan\"]\n[limits]\nmemory = \"512 MiB\"\n",
		bad: "jobs = [\"plans\"]\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		args      []string
		out, want string // the output, and the error
	}{
		"a good file":          {[]string{"check", "--policy", good}, "memory      512 MiB for each job", ""},
		"of a directory":       {[]string{"check", "--dir", filepath.Dir(good)}, "jobs        plan\n", ""},
		"a bad file":           {[]string{"check", "--policy", bad}, "", "runner.toml:1:9: \"plans\" is no kind of job"},
		"no file":              {[]string{"check"}, "", "--policy"},
		"a directory without":  {[]string{"check", "--dir", t.TempDir()}, "", "without this file allows everything"},
		"a file that is gone":  {[]string{"check", "--policy", good + ".gone"}, "", "takes no jobs"},
		"status":               {[]string{"status", "--dir", filepath.Dir(good)}, "no runnerd is running here", ""},
		"status for a program": {[]string{"status", "--dir", filepath.Dir(good), "-o", "json"}, `"jobs": [`, ""},
		"status, as what":      {[]string{"status", "--dir", filepath.Dir(good), "-o", "xml"}, "", "use table or json"},
		"status of nothing":    {[]string{"status", "--dir", "/nowhere"}, "", "name the directory"},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot()
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetArgs(test.args)
			err := root.Execute()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(out.String(), test.out) {
				t.Errorf("got %q", out.String())
			}
		})
	}
	if left, err := os.ReadDir(filepath.Dir(good)); err != nil || len(left) != 1 {
		t.Errorf("who looks leaves something: %v %v", left, err)
	}
}

// TestEveryKindOfComponentCanBeListed checks that the list of components in a runner file accepts every kind that a
// runner works on.
func TestEveryKindOfComponentCanBeListed(t *testing.T) {
	for name := range kinds {
		if err := new(policy.Component).UnmarshalText([]byte(name)); err != nil {
			t.Error(err)
		}
	}
}
