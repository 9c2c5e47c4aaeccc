package podshell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	files "github.com/nuon-toolkit/nuon/runnerd/transcript"
)

// person is the control plane with a person behind it.
type person struct {
	typed chan api.ShellInputs

	mutex sync.Mutex
	shown bytes.Buffer
	fail  error
}

func (p *person) ReceiveShellInput(ctx context.Context, _ int64) (api.ShellInputs, error) {
	select {
	case got := <-p.typed:
		return got, p.fail
	case <-ctx.Done():
		return api.ShellInputs{}, ctx.Err()
	}
}

func (p *person) SendShellOutput(_ context.Context, message api.NewShellOutput) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.shown.Write(message.Data)
	return nil
}

func (p *person) text() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.shown.String()
}

// rig is a session that has not started.
type rig struct {
	*testing.T
	person *person
	env    *job.Env
	cancel context.CancelFunc
	ended  chan api.JobResult
}

// run starts a session with a program.
func run(t *testing.T, start program) *rig {
	t.Helper()
	r := &rig{T: t, person: &person{typed: make(chan api.ShellInputs)}, ended: make(chan api.JobResult, 1)}
	r.env = &job.Env{Root: t.TempDir(), Redact: &redact.Set{}}
	r.env.Redact.Add([]byte("planted-password-1"))
	r.env.Spec.Job, r.env.Spec.Attempt = "job_1", 1
	request := api.NewShell{Component: "web", Reason: "it is slow", Columns: 80, Rows: 24}
	out, err := newTranscript(r.env, request)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	t.Cleanup(cancel)
	go func() { // ends with the session
		made := newSession(r.person, r.env.Redact, out).run(ctx, request, start)
		if err := out.close(&made.Shell); err != nil {
			made.Error = err.Error()
		}
		r.ended <- made
	}()
	return r
}

// types sends what a person types.
func (r *rig) types(number int64, text string) {
	r.person.typed <- api.ShellInputs{Items: []api.NewShellInput{{Number: number, Data: []byte(text)}}}
}

func (r *rig) shows(text string) {
	r.Helper()
	testtime.Until(r.T, "it shows "+text, func() bool { return strings.Contains(r.person.text(), text) })
}

func (r *rig) end() api.JobResult {
	r.Helper()
	return testtime.Receive(r.T, r.ended, "the session ends")
}

// transcript returns the file of the owner.
func (r *rig) transcript() string {
	text, err := os.ReadFile(filepath.Join(r.env.Root, files.Dir, "job_1-1.cast"))
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

// echo is a program that repeats what is typed until it reads an end.
func echo(_ context.Context, t cluster.Terminal) (int, error) {
	size := <-t.Resized
	_, _ = io.WriteString(t.Out, strings.Repeat("$", size.Columns-78))
	for part := make([]byte, 100); ; {
		n, err := t.In.Read(part)
		if err != nil {
			return 0, nil //nolint:nilerr // the session has ended
		}
		if bytes.ContainsRune(part[:n], 4) {
			return 3, nil
		}
		_, _ = t.Out.Write(part[:n])
	}
}

// TestASession checks that what is typed reaches the program and what it shows reaches the person, without secrets, and
// that the transcript has both directions with control characters escaped, and the size of the window.
func TestASession(t *testing.T) {
	r := run(t, echo)
	r.shows("$$")
	r.types(1, "ls p")
	r.shows("ls p") // although a secret starts with p
	r.types(1, "again")
	r.types(2, "\x1b[31mplanted-password-1 ")
	r.shows("\x1b[31m(sensitive) ")
	r.person.typed <- api.ShellInputs{Items: []api.NewShellInput{{Number: 3, Columns: 100, Rows: 30}}}
	r.types(4, "\x04")
	got := r.end()
	if got.Status != job.Succeeded || got.Shell.ExitCode != 3 || got.Shell.OutputBytes == 0 {
		t.Errorf("%+v", got)
	}
	text := r.transcript()
	for _, want := range []string{`"version":2`, `"i","ls `, `"o","$$"]`, `\u001b[31m`, `"r","100x30"]`, "it is slow"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the transcript:\n%s", want, text)
		}
	}
	if strings.Contains(text, "planted-password") || strings.Contains(text, "again") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
}

// TestASessionEnds checks each way in which a session ends, with what it showed until then.
func TestASessionEnds(t *testing.T) {
	hang := func(ctx context.Context, t cluster.Terminal) (int, error) {
		_, _ = io.WriteString(t.Out, "started")
		<-ctx.Done()
		return 0, ctx.Err()
	}
	t.Run("the person leaves", func(t *testing.T) {
		r := run(t, hang)
		r.shows("started")
		r.person.typed <- api.ShellInputs{Ended: "the person has left", Left: true}
		if got := r.end(); got.Status != job.Succeeded {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the control plane ends it", func(t *testing.T) {
		r := run(t, hang)
		r.shows("started")
		r.person.typed <- api.ShellInputs{Ended: "nobody was connected"}
		if got := r.end(); got.Status != api.JobResultStatusCancelled ||
			!strings.HasSuffix(got.Error, ": nobody was connected") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a cancel", func(t *testing.T) {
		r := run(t, hang)
		r.shows("started")
		r.cancel()
		if got := r.end(); got.Status != api.JobResultStatusCancelled {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no contact", func(t *testing.T) {
		r := run(t, hang)
		r.shows("started")
		r.person.fail = errors.New("no route")
		r.person.typed <- api.ShellInputs{}
		if got := r.end(); got.Status != api.JobResultStatusFailed || !strings.Contains(got.Error, "lost its connection") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("output without end", func(t *testing.T) {
		r := run(t, func(ctx context.Context, t cluster.Terminal) (int, error) {
			for ctx.Err() == nil {
				_, _ = t.Out.Write(bytes.Repeat([]byte("y\n"), 10_000))
			}
			return 0, ctx.Err()
		})
		if got := r.end(); got.Status != api.JobResultStatusFailed || !strings.Contains(got.Error, "8 MiB") ||
			got.Shell.OutputBytes > maxOutput {
			t.Errorf("%+v", got)
		}
	})
	t.Run("input without end", func(t *testing.T) {
		r := run(t, hang) // which reads nothing
		go func() {
			for n := int64(1); n <= maxInput/1000+1; n++ {
				select {
				case r.person.typed <- api.ShellInputs{Items: []api.NewShellInput{{Number: n, Data: make([]byte, 1000)}}}:
				case <-t.Context().Done():
					return
				}
			}
		}()
		if got := r.end(); got.Status != api.JobResultStatusFailed || !strings.Contains(got.Error, "received") {
			t.Errorf("%+v", got)
		}
	})
}

// TestAForbiddenShell checks that a shell or an image that the owner does not allow is refused, and that this is in the
// owner's log.
func TestAForbiddenShell(t *testing.T) {
	env := &job.Env{Root: t.TempDir(), Redact: &redact.Set{}}
	env.Policy.Debug.Shells = []string{"web"}
	for _, request := range []api.NewShell{{Component: "db"}, {Component: "web", Image: "evil"}} {
		env.Spec.Shell = api.ShellSpec{Request: request, RequestedBy: "vera"}
		if _, err := (Handler{}).Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "does not allow") {
			t.Error(err)
		}
	}
	all, err := audit.Read(env.Root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range all {
		events = append(events, e.What)
	}
	if strings.Join(events, ",") != audit.ShellRefused+","+audit.ShellRefused {
		t.Error(events)
	}
}

// TestAShellUnderAnotherName checks that the control plane cannot pass one component off as another in whose pods the
// owner allows shells.
func TestAShellUnderAnotherName(t *testing.T) {
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	handler := Handler{"helm_chart": func(context.Context, *job.Env, api.HealthPart) (*cluster.Cluster, []api.ObjectRef,
		error) {
		asked = true
		return nil, nil, errors.New("no cluster")
	}}
	for name, allowed := range map[string]bool{"web": true, "db": false} {
		env := &job.Env{Root: t.TempDir(), Dir: t.TempDir(), Redact: &redact.Set{}, Key: key}
		env.Log = job.NewLog(io.Discard, env.Redact)
		env.Policy.Debug.Shells = []string{"web"}
		env.Spec = api.JobSpec{Job: "job_1", Attempt: 1, Kind: api.JobSpecKindShell, Shell: api.ShellSpec{
			InstallID: "ins_1", Request: api.NewShell{Component: "web"}, Part: api.HealthPart{
				Cluster: deploy.ClusterIdentity(key, "ic_1", name, "sha256:a"),
				Deploy: api.DeploySpec{InstallID: "ins_1", Component: "web", InstallComponent: "ic_1",
					ComponentKind: "helm_chart"},
			},
		}}
		asked = false
		_, err := handler.Run(t.Context(), env)
		if err == nil || asked != allowed || strings.Contains(err.Error(), "has not applied it") == allowed {
			t.Errorf("applied as %s: asked %t, %v", name, asked, err)
		}
	}
}
