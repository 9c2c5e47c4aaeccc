package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
)

// RunnerFile is the config of the attacked runner. Its owner allows everything except scripts and
// Terraform, which execute code by design.
const RunnerFile = `jobs       = ["sync", "plan", "apply", "health"]
components = ["helm_chart", "kubernetes_manifest"]
`

// logins lists the programs by which a runner logs in to clusters of clouds. On the attacked
// machine they create the canary: no attack may use the runner's cloud identity.
var logins = []string{"aws", "gke-gcloud-auth-plugin", "gcloud", "kubelogin", "az"}

// Machine is a customer's machine with a runner that the plane attacks.
type Machine struct {
	Plane *Plane
	// Install is the install's registry. The attacker has its password.
	Install *oci.Repository
	// Canary is a file that the attacks try to create; it exists if a command of theirs ran.
	Canary string
	// Foreign is an address that no runner may contact; Reached counts the connections to it.
	Foreign string
	Reached *atomic.Int64

	// Trace, if set, receives the result of each job, nil for one that was not accepted.
	Trace func(result *api.JobResult)

	dir     string // of the runner
	runner  *exec.Cmd
	output  testbuffer.Buffer
	ended   chan struct{}
	closers []func() error
}

// NewMachine starts a plane, a registry and the runnerd of bin, below dir, and waits until the
// runner has registered. The caller must call Close on the result, also after an error.
func NewMachine(ctx context.Context, bin, dir, runnerFile string) (*Machine, error) {
	m := &Machine{dir: filepath.Join(dir, "runner"), Canary: filepath.Join(dir, "canary"), Reached: &atomic.Int64{},
		ended: make(chan struct{})}
	for _, step := range []func() error{
		func() error { return os.MkdirAll(m.dir, 0o700) },
		func() error { return os.WriteFile(filepath.Join(dir, "runner.toml"), []byte(runnerFile), 0o600) },
		m.startPlane,
		m.startForeign,
		func() error { return m.startRunner(bin, dir) },
		func() error { return m.registered(ctx) },
	} {
		if err := step(); err != nil {
			return m, fmt.Errorf("set up the attacked machine: %w", err)
		}
	}
	return m, nil
}

func (m *Machine) startPlane() (err error) {
	if m.Plane, err = Start(); err != nil {
		return err
	}
	m.closers = append(m.closers, m.Plane.Close)
	return nil
}

// startForeign listens at an address that no runner should contact.
func (m *Machine) startForeign() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.Foreign = listener.Addr().String()
	m.closers = append(m.closers, listener.Close)
	go func() { // until Close
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			m.Reached.Add(1)
			_ = connection.Close()
		}
	}()
	return nil
}

// startRegistry serves the install's registry and returns the environment variables for it.
func (m *Machine) startRegistry(dir string) ([]string, error) {
	signer, err := registry.NewSigner(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		return nil, err
	}
	handler, err := registry.New(registry.Options{Dir: filepath.Join(dir, "registry"), Signer: signer})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until Close
	m.closers = append(m.closers, server.Close, handler.Close)
	const namespace, life = "install", 48 * time.Hour
	password := signer.Issue(namespace, []string{registry.ActionPull, registry.ActionPush}, time.Now().Add(life))
	reference, err := artifact.ParseReference(listener.Addr().String()+"/"+namespace+"/attack", true)
	if err != nil {
		return nil, err
	}
	if m.Install, err = oci.Open(reference, oci.Basic("attacker", password)); err != nil {
		return nil, err
	}
	return []string{
		"NUON_REGISTRY=" + listener.Addr().String() + "/" + namespace, "NUON_REGISTRY_USERNAME=install",
		"NUON_REGISTRY_PASSWORD=" + password, "NUON_REGISTRY_PLAIN_HTTP=1",
	}, nil
}

func (m *Machine) startRunner(bin, dir string) error {
	access, err := m.startRegistry(dir)
	if err != nil {
		return err
	}
	home, programs := filepath.Join(dir, "home"), filepath.Join(dir, "programs")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(programs, 0o700)); err != nil {
		return err
	}
	for _, name := range logins {
		script := "#!/bin/sh\ntouch " + m.Canary + "\n"
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o700); err != nil { //nolint:gosec // a program
			return err
		}
	}
	m.runner = exec.Command(filepath.Join(bin, "runnerd"), "run", //nolint:noctx // Close ends it
		"--url", m.Plane.URL(), "--dir", m.dir, "--name", "victim",
		"--policy", filepath.Join(dir, "runner.toml"), "--capacity", "2")
	m.runner.Dir = dir
	m.runner.Env = append(slices.Clone(access), "PATH="+programs+":"+os.Getenv("PATH"), "HOME="+home, "TMPDIR="+home,
		"NUON_REGISTRATION_TOKEN="+Token)
	m.runner.Stdout, m.runner.Stderr = &m.output, &m.output
	if err := m.runner.Start(); err != nil {
		return err
	}
	go func() { // until the runner has ended
		_ = m.runner.Wait()
		close(m.ended)
	}()
	return nil
}

// registered waits for the registration, or for the end of a runner that cannot register.
func (m *Machine) registered(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-m.ended:
			stop()
		case <-ctx.Done():
		}
	}()
	if err := m.Plane.Registered(ctx); err != nil {
		return fmt.Errorf("%w: the runner printed %s", err, m.Output())
	}
	return nil
}

// Output returns the output of the runner.
func (m *Machine) Output() string { return m.output.String() }

// Close ends the runner and its peers.
func (m *Machine) Close() error {
	var errs []error
	if m.runner != nil && m.runner.Process != nil {
		_ = m.runner.Process.Signal(syscall.SIGTERM) // it may have ended
		<-m.ended
	}
	for _, close := range m.closers {
		errs = append(errs, close())
	}
	return errors.Join(errs...)
}
