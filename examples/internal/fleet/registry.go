package fleet

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
)

// Registry is an OCI registry outside of the control plane, as vendors have one: it runs
// independently of the reconcilers, and can be down separately.
type Registry struct {
	dir     string
	signer  registry.Signer
	handler *registry.Registry
	address string

	mu     sync.Mutex
	server *http.Server // nil while it is down
}

// credentialLife is longer than any run.
const credentialLife = 48 * time.Hour

// OpenRegistry starts a registry on a directory, on a free port. The key signs the tokens for it.
func OpenRegistry(dir string, key []byte) (*Registry, error) {
	signer, err := registry.NewSigner(key)
	if err != nil {
		return nil, err
	}
	handler, err := registry.New(registry.Options{Dir: dir, Signer: signer})
	if err != nil {
		return nil, err
	}
	r := &Registry{dir: dir, signer: signer, handler: handler, address: "127.0.0.1:0"}
	return r, r.Up()
}

// Up starts it again at the same address.
func (r *Registry) Up() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		return fmt.Errorf("bring the registry up: %w", err)
	}
	r.address = listener.Addr().String()
	server := &http.Server{Handler: r.handler, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	r.server = server
	go func() { _ = server.Serve(listener) }()
	return nil
}

// Down ends every connection and accepts no more.
func (r *Registry) Down() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server == nil {
		return nil
	}
	err := r.server.Close()
	r.server = nil
	return err
}

// Close ends the registry.
func (r *Registry) Close() error { return errors.Join(r.Down(), r.handler.Close()) }

// environment returns the variables that give a program access to one namespace.
func (r *Registry) environment(namespace string) []string {
	token := r.signer.Issue(namespace, []string{registry.ActionPull, registry.ActionPush}, time.Now().Add(credentialLife))
	return []string{
		"NUON_REGISTRY=" + r.address + "/" + namespace, "NUON_REGISTRY_USERNAME=fleet", "NUON_REGISTRY_PASSWORD=" + token,
		"NUON_REGISTRY_PLAIN_HTTP=1",
	}
}

// Address returns the registry's host and port.
func (r *Registry) Address() string { return r.address }

// Open opens a repository for reading.
func (r *Registry) Open(repository string) (*oci.Repository, error) {
	token := r.signer.Issue(repository, []string{registry.ActionPull}, time.Now().Add(credentialLife))
	return oci.Open(artifact.Reference{Host: r.address, Repository: repository, PlainHTTP: true},
		oci.Basic("fleet", token))
}

func (r *Registry) vendor() []string { return r.environment(devcontract.VendorNamespace) }

// Install returns the variables that give a runner of a customer access.
func (r *Registry) Install() []string { return r.environment(devcontract.InstallNamespace) }

// Copy makes a backup of the registry's content, while it is up: files are only ever added.
func (r *Registry) Copy(to string) error { return os.CopyFS(to, os.DirFS(r.dir)) }

// Wipe stops the registry and deletes its content.
func (r *Registry) Wipe() error { return errors.Join(r.Down(), os.RemoveAll(r.dir)) }

// Restore restores a backup and starts the registry.
func (r *Registry) Restore(from string) error {
	if err := os.CopyFS(r.dir, os.DirFS(from)); err != nil {
		return fmt.Errorf("restore the registry: %w", err)
	}
	return r.Up()
}
