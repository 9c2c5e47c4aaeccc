package state

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Backend stores sealed states and the lock; *job.Remote implements it.
type Backend interface {
	// GetState returns the newest sealed state, and false when there is none.
	GetState(ctx context.Context) (state api.State, found bool, err error)
	// LockState takes the lock for this attempt. The error is a *job.LockedError when
	// another attempt holds it.
	LockState(ctx context.Context, lock api.StateLock) error
	// UnlockState frees the lock after the spooled states were delivered.
	UnlockState(ctx context.Context) error
	// SpoolState stores a version, which is on disk when it returns.
	SpoolState(state api.State) error
	// DeliverState sends a version immediately, for a full disk.
	DeliverState(ctx context.Context, state api.State) error
}

// Options configures an endpoint. Backend and Key are required.
type Options struct {
	Backend Backend
	// Key seals and opens states.
	Key seal.Identity
	// Context identifies the component that the states belong to.
	Context seal.Context
	// OnSecret, when set, is called with every sensitive value of a state as soon as the state
	// is in memory, so that the caller can mask it in its logs.
	OnSecret func(secret []byte)
	// Logf, when set, writes to the job's log.
	Logf func(format string, args ...any)
}

// Endpoint serves one Terraform working directory.
type Endpoint struct {
	options  Options
	server   *http.Server
	address  string
	user     string
	password string
	served   chan struct{} // closed when the server has ended

	mutex   sync.Mutex
	now     *Version // as last read or written; nil before the first read
	written bool     // this process wrote now, so it is the newest version
	lockID  string   // id of the lock that this process holds, or empty
	err     error    // the error of the last read, write or lock
}

// Start opens the endpoint on a free port. ctx bounds its calls to Backend, except for storing a
// state and freeing the lock, which must also work for a canceled job. Close ends the endpoint.
func Start(ctx context.Context, options Options) (*Endpoint, error) {
	if options.OnSecret == nil {
		options.OnSecret = func([]byte) {}
	}
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	if options.Key.IsZero() {
		return nil, errors.New("this runner has no install key, so no state can be opened; start it with a key file")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the state endpoint: %w", err)
	}
	made := &Endpoint{
		options:  options,
		address:  "http://" + listener.Addr().String() + "/state",
		user:     "job",
		password: rand.Text(),
		served:   make(chan struct{}),
	}
	made.server = &http.Server{
		Handler:           http.HandlerFunc(made.serve),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() { // serves requests until Close
		defer close(made.served)
		_ = made.server.Serve(listener) // always returns an error, ErrServerClosed after a regular Close
	}()
	return made, nil
}

// Environ returns the variables that configure Terraform's http backend. The configuration
// is only in the environment so that it does not become part of a plan.
func (e *Endpoint) Environ() map[string]string {
	return map[string]string{
		"TF_HTTP_ADDRESS":        e.address,
		"TF_HTTP_LOCK_ADDRESS":   e.address,
		"TF_HTTP_UNLOCK_ADDRESS": e.address,
		"TF_HTTP_USERNAME":       e.user,
		"TF_HTTP_PASSWORD":       e.password,
		// Backend already retries its calls.
		"TF_HTTP_RETRY_MAX": "0",
	}
}

// Password returns the endpoint's password, which must not appear in a log.
func (e *Endpoint) Password() seal.Secret { return seal.NewSecret([]byte(e.password)) }

// closeLimit bounds how long an open request may take to end.
const closeLimit = 5 * time.Second

// Close frees the lock if Terraform left it, and ends the endpoint. It is called
// after Terraform has ended.
func (e *Endpoint) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	short, stop := context.WithTimeout(ctx, closeLimit)
	defer stop()
	err := e.server.Shutdown(short)
	if err != nil {
		err = e.server.Close()
	}
	<-e.served
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.lockID == "" {
		return err
	}
	e.options.Logf("Terraform left the state locked; freeing the lock")
	if unlocking := e.options.Backend.UnlockState(ctx); unlocking != nil {
		return errors.Join(err, fmt.Errorf("free the state lock: %w", unlocking))
	}
	e.lockID = ""
	return err
}

// Err returns the error of Terraform's last read, write or lock, or nil. Terraform's
// own message only reports that there was an error. It is a *job.LockedError when another
// attempt holds the lock.
func (e *Endpoint) Err() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.err
}

func (e *Endpoint) isAuthorized(r *http.Request) bool {
	user, password, given := r.BasicAuth()
	right := subtle.ConstantTimeCompare([]byte(user), []byte(e.user)) & subtle.ConstantTimeCompare([]byte(password),
		[]byte(e.password))
	return given && right == 1
}
