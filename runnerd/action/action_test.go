package action

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

// rig holds what the job process passes to the handler.
type rig struct {
	*testing.T
	env *job.Env
	log *bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	made := &rig{T: t, log: &bytes.Buffer{}}
	secrets := &redact.Set{}
	made.env = &job.Env{
		Spec: api.JobSpec{Job: "job_1", Attempt: 1, Kind: api.JobSpecKindAction, Org: "org_1", TimeoutSeconds: 60},
		Dir:  t.TempDir(), Root: t.TempDir(), Log: job.NewLog(made.log, secrets), Redact: secrets, Key: key,
		Timing: timing.Default(),
	}
	made.env.Spec.Action = api.ActionSpec{Install: "acme", InstallID: "ins_1", Action: "smoke", Trigger: "manual",
		Component: "web", Values: api.Values{Plain: json.RawMessage(`{"inputs":{"inputs":{"name":"two words"}}}`)}}
	return made
}

func script(name, body string) api.ActionStep {
	return api.ActionStep{Name: name, InlineContents: "#!/bin/sh\nset -eu\n" + body + "\n"}
}

func (r *rig) run(ctx context.Context, steps ...api.ActionStep) (map[string]string, error) {
	r.Helper()
	r.env.Spec.Action.Steps = steps
	result, err := (Action{}).Run(ctx, r.env)
	if err != nil {
		return nil, err
	}
	if result.Status != job.Succeeded {
		r.Fatalf("no error, but %s", result.Status)
	}
	made := map[string]string{}
	for _, output := range result.Action.Outputs {
		made[output.Name] = string(output.Value)
		if output.Value == nil {
			opened, err := r.env.Key.Open(output.Sealed,
				seal.Context{Install: "ins_1", Kind: seal.KindOutput,
					Path: "actions.workflows.smoke.outputs." + output.Name})
			if err != nil {
				r.Fatal(err)
			}
			made[output.Name] = "sealed " + string(opened.Reveal())
		}
	}
	return made, nil
}

func TestSteps(t *testing.T) {
	r := newRig(t)
	r.env.Policy.FreeEnv = true
	r.env.Spec.Action.Env = map[string]string{"ASKED": "run-time", "BOTH": "run-time"}
	t.Setenv("PLANTED", "must not be passed on")
	first := script("look around", `
echo "hello from $PWD"
echo "to stderr" >&2
test "$(ls -A)" = ""
test -z "${PLANTED:-}"
echo kept >"$NUON_ACTIONS_ROOT/shared"
{
  echo "env=$NUON_ORG_ID,$NUON_INSTALL_ID,$TRIGGER_TYPE,$COMPONENT_NAME,$ASKED,$BOTH,$OWN,$TMPDIR"
  echo 'number={"not": "parsed"}'
  echo '{"deep": {"n": 12345678901234567890}, "name": "{{.nuon.inputs.inputs.name}}"}'
} >>"$NUON_ACTIONS_OUTPUT_FILEPATH"`)
	first.EnvVars = map[string]string{"OWN": "{{.nuon.inputs.inputs.name}}!", "BOTH": "step"}
	second := script("second-step",
		`test "$(cat "$NUON_ACTIONS_ROOT/shared")" = kept; printf '{\n "name": "later"\n}' >"$NUON_ACTIONS_OUTPUT_FILEPATH"`)
	got, err := r.run(t.Context(), first, second)
	if err != nil {
		t.Fatal(err, r.log)
	}
	env := `"org_1,ins_1,manual,web,run-time,run-time,two words!,` + filepath.Join(r.env.Dir, "work", "root", "tmp") + `"`
	want := map[string]string{
		"env": env, "number": `"{\"not\": \"parsed\"}"`, "deep": `{"n":12345678901234567890}`, "name": `"later"`,
		"steps": `{"look around":{"deep":{"n":12345678901234567890},"env":` + env +
			`,"name":"two words","number":"{\"not\": \"parsed\"}"},"second-step":{"name":"later"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for _, line := range []string{`"l":"info","m":"hello from `, `"l":"warn","m":"to stderr"`, `"m":"step second-step"`} {
		if !strings.Contains(r.log.String(), line) {
			t.Errorf("%s is not in the log:\n%s", line, r.log)
		}
	}
}

// TestEnvironmentThatTakesOver checks environment variables with which an operator or a hostile
// control plane could take over a run: nothing is started with them.
func TestEnvironmentThatTakesOver(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	planted := filepath.Join(t.TempDir(), "planted")
	if err := os.WriteFile(planted, []byte("#!/bin/sh\ntouch "+canary+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	bash := api.ActionStep{Name: "s", InlineContents: "#!/usr/bin/env bash\ntrue\n"}
	for name, test := range map[string]struct {
		free bool
		give func(*api.ActionSpec, *api.ActionStep)
		want string
	}{
		"not declared": {false, func(s *api.ActionSpec, _ *api.ActionStep) { s.Env = map[string]string{"HARMLESS": "x"} },
			"free_env = true"},
		"BASH_ENV": {true, func(s *api.ActionSpec, _ *api.ActionStep) { s.Env = map[string]string{"BASH_ENV": planted} },
			"BASH_ENV is reserved"},
		"a function": {true, func(s *api.ActionSpec, _ *api.ActionStep) {
			s.Env = map[string]string{"BASH_FUNC_true%%": "() { touch " + canary + "; }"}
		}, "no name"},
		"PATH": {true, func(s *api.ActionSpec,
			_ *api.ActionStep) {
			s.Env = map[string]string{"PATH": filepath.Dir(planted)}
		}, "PATH is reserved"},
		"LD_PRELOAD": {true, func(s *api.ActionSpec,
			_ *api.ActionStep) {
			s.Env = map[string]string{"LD_PRELOAD": planted}
		}, "LD_PRELOAD is reserved"},
		"of a step": {true, func(_ *api.ActionSpec,
			s *api.ActionStep) {
			s.EnvVars = map[string]string{"BASH_ENV": planted}
		}, "BASH_ENV is reserved"},
		"PYTHON of a step": {true, func(_ *api.ActionSpec,
			s *api.ActionStep) {
			s.EnvVars = map[string]string{"PYTHONSTARTUP": planted}
		}, "PYTHONSTARTUP is reserved"},
		"as an input": {false, func(s *api.ActionSpec, _ *api.ActionStep) {
			s.Inputs = map[string]string{"BASH_ENV": planted, "LD_PRELOAD": planted}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, step := newRig(t), bash
			r.env.Policy.FreeEnv = test.free
			test.give(&r.env.Spec.Action, &step)
			_, err := r.run(t.Context(), step)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(canary); err == nil {
				t.Fatal("what was planted ran")
			}
		})
	}
}

func TestCommand(t *testing.T) {
	r := newRig(t)
	got, err := r.run(t.Context(), api.ActionStep{
		Name:    "c",
		Command: `sh -c 'echo "args=$#:$1:$2" >>"$NUON_ACTIONS_OUTPUT_FILEPATH"' sh {{.nuon.inputs.inputs.name}} "a\"b"`,
	})
	if err != nil || got["args"] != `"2:two words:a\"b"` {
		t.Fatal(got, err, r.log)
	}
}

// TestABusyProgram checks that a program that is still open for writing is
// started after it was closed.
func TestABusyProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	writer, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.WriteString("#!/bin/sh\necho ran once\n"); err != nil {
		t.Fatal(err)
	}
	//walltime: how long the file is busy; the program under test waits a hundred times longer
	defer time.AfterFunc(200*time.Millisecond, func() { _ = writer.Close() }).Stop()
	r := newRig(t)
	t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
	_, err = r.run(t.Context(), api.ActionStep{Name: "c", Command: "program"})
	if err != nil || strings.Count(r.log.String(), "ran once") != 1 {
		t.Fatal(err, r.log)
	}
}

// TestSecrets checks that a secret reaches the script, and that no output or log contains it.
func TestSecrets(t *testing.T) {
	r := newRig(t)
	const secret = "planted-s3cret"
	r.env.Spec.Action.Values.Sealed = []api.SealedValue{valuestest.SealValue(t, r.env.Key, "ins_1", "inputs.inputs.token",
		secret)}
	step := script("s", `echo "token is $TOKEN"; echo "$TOKEN" | base64 >&2; echo "copy=<$TOKEN>" >>"$NUON_ACTIONS_OUTPUT_FILEPATH"; echo "length=${#TOKEN}" >>"$NUON_ACTIONS_OUTPUT_FILEPATH"`)
	step.EnvVars = map[string]string{"TOKEN": "{{.nuon.inputs.inputs.token}}"}
	got, err := r.run(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	if got["copy"] != `sealed "\u003c`+secret+`\u003e"` && got["copy"] != `sealed "<`+secret+`>"` ||
		got["length"] != `"14"` || !strings.HasPrefix(got["steps"], "sealed ") {
		t.Fatal(got)
	}
	known := &redact.Set{}
	known.Add([]byte(secret))
	if known.Contains(r.log.Bytes()) || !strings.Contains(r.log.String(), "token is "+redact.Mask) {
		t.Fatal(r.log)
	}
}

// TestCluster checks that the access to the runner's cluster is available to an action
// that requests it and to no other, even if the owner passes it on, and that no log
// shows its credentials.
func TestCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const content = "users: [{name: admin, user: {token: planted-t0ken-1}}]\nother:\n  user:\n    client-key-data: " +
		"\"cGxhbnRlZC1rZXk=\"\n    password: 'planted-pass'\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file+"-ambient:"+file)
	t.Setenv("KUBE_TOKEN", "planted-ambient")
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv(jobenv.VarPassEnv, "KUBECONFIG,KUBE_TOKEN")
	const look = `echo "seen=${KUBECONFIG:-none},${NUON_KUBECONFIG_ENABLED:-unset},${KUBE_TOKEN:+set},${KUBERNETES_SERVICE_HOST:-none}" >>"$NUON_ACTIONS_OUTPUT_FILEPATH"
for f in $(echo "${KUBECONFIG:-}" | tr : ' '); do cat "$f" 2>/dev/null || true; done`
	for name, test := range map[string]struct {
		asked bool
		given string // with --kubeconfig
		want  string
	}{
		"not asked":            {want: "none,unset,,none"},
		"not asked, but given": {given: file, want: "none,unset,,none"},
		"asked":                {asked: true, given: file, want: file + ",true,set,10.0.0.1"},
		"asked, by a variable": {asked: true, want: file + "-ambient:" + file + ",true,set,10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.env.KubeConfig, r.env.Spec.Action.KubeConfig = test.given, test.asked
			got, err := r.run(t.Context(), script("s", look))
			if err != nil || got["seen"] != `"`+test.want+`"` {
				t.Errorf("%v, %v, want %s\n%s", got["seen"], err, test.want, r.log)
			}
			for _, secret := range []string{"planted-t0ken-1", "cGxhbnRlZC1rZXk=", "planted-pass"} {
				if strings.Contains(r.log.String(), secret) {
					t.Errorf("%s is in the log:\n%s", secret, r.log)
				}
			}
			if shown := strings.Contains(r.log.String(), "client-key-data"); shown != test.asked {
				t.Errorf("the steps saw a cluster: %v", shown)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		r := newRig(t)
		r.env.KubeConfig, r.env.Spec.Action.KubeConfig = file+"-gone", true
		if _, err := r.run(t.Context(), script("s", "true")); err == nil ||
			!strings.Contains(err.Error(), "runnerd run --kubeconfig") {
			t.Error(err)
		}
	})
	t.Run("told by outputs", func(t *testing.T) {
		t.Setenv("KUBECONFIG", "")
		r := newRig(t)
		r.env.Spec.Action.KubeConfig = true
		r.env.Spec.Action.Cluster = api.ClusterSpec{Context: "edge",
			Path: []string{"components", "edge", "outputs", "cluster"}}
		const told = `{"endpoint":"https://edge.example","token":"planted-edge"}`
		r.env.Spec.Action.Values.Plain = json.RawMessage(`{"components":{"edge":{"outputs":{"cluster":` + told + `}}}}`)
		r.env.Spec.Action.Values.Proofs = []api.ValueProof{valuestest.Proof(t, r.env.Key, "ins_1",
			"components.edge.outputs.cluster", told)}
		r.env.KubeConfig = file // the kubeconfig of another cluster
		got, err := r.run(t.Context(),
			script("s", `grep -c 'server: https://edge.example' "$KUBECONFIG" >seen; echo "seen=$(cat seen),${KUBE_TOKEN:-},$(stat -c %a "$KUBECONFIG")" >>"$NUON_ACTIONS_OUTPUT_FILEPATH"; cat "$KUBECONFIG"`))
		if err != nil || got["seen"] != `"1,,600"` {
			t.Error(got, err, r.log)
		}
		if strings.Contains(r.log.String(), "planted-edge") || !strings.Contains(r.log.String(), "edge.example") {
			t.Errorf("the log:\n%s", r.log)
		}
	})
	for name, told := range map[string]string{
		"made up":           `{"endpoint":"https://evil.example","token":"x"}`,
		"with a program":    `{"endpoint":"https://evil.example","exec":{"command":"/bin/sh","args":["-c","touch ran"]}}`,
		"a kubeconfig":      `{"kubeconfig":"apiVersion: v1\nkind: Config\n"}`,
		"with a sealed key": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			r := newRig(t)
			r.env.Spec.Action.KubeConfig = true
			r.env.Spec.Action.Cluster = api.ClusterSpec{Context: "edge",
				Path: []string{"components", "edge", "outputs", "cluster"}}
			if told != "" {
				r.env.Spec.Action.Values.Plain = json.RawMessage(`{"components":{"edge":{"outputs":{"cluster":` + told + `}}}}`)
			} else {
				planted := valuestest.SealValue(t, r.env.Key, "ins_1", "inputs.inputs.password", "planted-edge")
				planted.Path = []string{"components", "edge", "outputs", "cluster", "token"}
				r.env.Spec.Action.Values.Sealed = []api.SealedValue{planted}
			}
			_, err := r.run(t.Context(), script("s", "echo the step ran"))
			if err == nil || strings.Contains(r.log.String(), "the step ran") || r.env.Redact.Contains([]byte("planted-edge")) {
				t.Errorf("%v\n%s", err, r.log)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Setenv("KUBECONFIG", "")
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		r := newRig(t)
		r.env.Spec.Action.KubeConfig = true
		got, err := r.run(t.Context(), script("s", look))
		if err != nil || got["seen"] != `"none,unset,set,none"` ||
			!strings.Contains(r.log.String(), "this runner was given no cluster") {
			t.Error(got, err, r.log)
		}
	})
}

func TestFailures(t *testing.T) {
	tests := map[string]struct {
		step api.ActionStep
		want string
	}{
		"exit code": {script("x", "exit 7"), `step "x": script-1 ended with exit code 7`},
		"killed":    {script("x", "kill -9 $$"), "was ended by a signal"},
		"no shebang": {api.ActionStep{Name: "x", InlineContents: "echo hi\n"},
			"let its first line be like #!/bin/sh"},
		"no interpreter": {api.ActionStep{Name: "x", InlineContents: "#!/nowhere/sh\n"},
			"what its first line names is not on this runner"},
		"nothing": {api.ActionStep{Name: "x"}, "it has nothing to run"},
		"both": {api.ActionStep{Name: "x", InlineContents: "#!/bin/sh\n", Command: "true"},
			"keep one of them"},
		"no program":       {api.ActionStep{Name: "x", Command: "no-such-program-here"}, "on the runner's PATH"},
		"no program there": {api.ActionStep{Name: "x", Command: "./run.sh"}, "run.sh not found; check its path"},
		"open quote":       {api.ActionStep{Name: "x", Command: "echo 'a"}, "a quote is not closed"},
		"template":         {script("x", "echo {{.nuon.inputs.inputs.missing}}"), "inputs.missing"},
		"variable": {api.ActionStep{Name: "x", Command: "true", EnvVars: map[string]string{"A=B": "c"}},
			`"A=B" is no name`},
		"reserved variable": {api.ActionStep{Name: "x", Command: "true", EnvVars: map[string]string{"BASH_ENV": "/x"}},
			"BASH_ENV is reserved"},
		"list as outputs": {script("x", `echo '["a"]' >"$NUON_ACTIONS_OUTPUT_FILEPATH"`),
			"line 1 of its outputs: it is JSON, but not an object"},
		"words as outputs": {script("x", `printf 'a=b\n\nhello\n' >"$NUON_ACTIONS_OUTPUT_FILEPATH"`),
			"line 3 of its outputs is neither"},
		"broken outputs": {script("x", `echo '{"a": ' >"$NUON_ACTIONS_OUTPUT_FILEPATH"`),
			"line 1 of its outputs: it is not JSON"},
		"reserved output": {script("x", `echo 'steps=1' >"$NUON_ACTIONS_OUTPUT_FILEPATH"`), `an output named "steps"`},
		"outputs by a link": {script("x", `ln -sf /etc/hostname "$NUON_ACTIONS_OUTPUT_FILEPATH"`),
			"write into the file itself"},
		"outputs by a pipe": {script("x", `rm "$NUON_ACTIONS_OUTPUT_FILEPATH"; mkfifo "$NUON_ACTIONS_OUTPUT_FILEPATH"`),
			"is not a file"},
		"outputs without end": {script("x", `head -c 1048577 /dev/zero >"$NUON_ACTIONS_OUTPUT_FILEPATH"`), "write less"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			_, err := r.run(t.Context(), test.step, script("never", "echo must-not-run"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v\nwant %s", err, test.want)
			}
			if strings.Contains(r.log.String(), "must-not-run") {
				t.Fatal("the next step ran")
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	for name, body := range map[string]string{"heeds": "sleep 100000",
		"deaf": "trap '' INT TERM; while :; do sleep 1; done"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.env.Spec.TimeoutSeconds, r.env.Timing.ToolGrace = 1, 500*time.Millisecond
			_, err := r.run(t.Context(), script("slow", body)) // the script never ends on its own
			if err == nil || !strings.Contains(err.Error(), `step "slow": action smoke took longer than 1 s`) {
				t.Fatal(err)
			}
		})
	}
}

// TestCancel checks that a step that ignores the interrupt is killed with everything that it
// started, even if that holds the output open.
func TestCancel(t *testing.T) {
	for name, trap := range map[string]string{"heeds": "", "deaf": "trap '' INT; "} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.env.Timing.ToolGrace = 500 * time.Millisecond
			pid := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				look := time.NewTicker(10 * time.Millisecond)
				defer look.Stop()
				for range look.C {
					if content, err := os.ReadFile(pid); err == nil && len(content) > 0 || ctx.Err() != nil {
						cancel()
						return
					}
				}
			}()
			_, err := r.run(ctx, script("x", trap+"sh -c '"+strings.ReplaceAll(trap, "'", `"`)+"echo $$ >"+pid+
				"; while :; do sleep 1; done' &\nwhile :; do sleep 1; done"))
			if err == nil || !strings.Contains(err.Error(), "interrupted") {
				t.Fatal(err)
			}
			mustBeGone(t, pid)
		})
	}
}

func TestLeftoversAreKilled(t *testing.T) {
	r := newRig(t)
	pid := filepath.Join(t.TempDir(), "pid")
	if _, err := r.run(t.Context(), script("x", "sleep 100000 &\necho $! >"+pid)); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, pid)
}

// mustBeGone waits until the process in the file has ended or is a zombie.
func mustBeGone(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	testtime.Until(t, "the end of what the step started", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(content)), "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
