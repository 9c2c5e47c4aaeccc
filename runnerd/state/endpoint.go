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

// Remote is where sealed states and the lock are kept; *job.Remote is one.
type Remote interface {
	// GetState gives the newest sealed state, false when there is none.
	GetState(ctx context.Context) (state api.State, found bool, err error)
	// LockState takes the lock for this attempt; a *job.LockedError when another has it.
	LockState(ctx context.Context, lock api.StateLock) error
	// UnlockState frees it, after the spooled states were delivered.
	UnlockState(ctx context.Context) error
	// SpoolState keeps a version; it is on disk when this returns.
	SpoolState(state api.State) error
	// DeliverState sends a version at once, when the disk takes no more.
	DeliverState(ctx context.Context, state api.State) error
}

// Options say what an endpoint works with. Remote and Key are needed.
type Options struct {
	Remote Remote
	// Key seals and opens.
	Key seal.Identity
	// Context names the component that the states belong to.
	Context seal.Context
	// Learn, when set, gets every sensitive value of a state as soon as the state is in memory, so that the caller can keep it
	// out of its logs.
	Learn func(secret []byte)
	// Say, when set, gets sentences for the job's log.
	Say func(format string, args ...any)
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
	wrote   bool     // now was written by this process, which makes it the newest
	lockID  string   // of the lock that this process holds, or empty
	trouble error    // what the last read, write or lock ended with
}

// Start opens the endpoint on a free port. ctx bounds its calls to Remote, but not the keeping of a state and not the freeing of
// the lock: these must also work for a job that is cancelled. Close ends it.
func Start(ctx context.Context, options Options) (*Endpoint, error) {
	if options.Learn == nil {
		options.Learn = func([]byte) {}
	}
	if options.Say == nil {
		options.Say = func(string, ...any) {}
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
	go func() { // the server: waits for requests until Close
		defer close(made.served)
		_ = made.server.Serve(listener) // always an error, ErrServerClosed when all is well
	}()
	return made, nil
}

// Environ gives the variables that lead Terraform's http backend here. They are given by the environment alone, so that they are
// not bound into a plan.
func (e *Endpoint) Environ() map[string]string {
	return map[string]string{
		"TF_HTTP_ADDRESS":        e.address,
		"TF_HTTP_LOCK_ADDRESS":   e.address,
		"TF_HTTP_UNLOCK_ADDRESS": e.address,
		"TF_HTTP_USERNAME":       e.user,
		"TF_HTTP_PASSWORD":       e.password,
		// The calls behind this endpoint are tried again by themselves.
		"TF_HTTP_RETRY_MAX": "0",
	}
}

// Password is what must not show up in a log.
func (e *Endpoint) Password() seal.Secret { return seal.NewSecret([]byte(e.password)) }

// closeLimit is how long an open request may take to end.
const closeLimit = 5 * time.Second

// Close frees the lock if Terraform left it, and ends the endpoint. Call it when Terraform is gone.
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
	e.options.Say("Terraform left the state locked; freeing the lock")
	if unlocking := e.options.Remote.UnlockState(ctx); unlocking != nil {
		return errors.Join(err, fmt.Errorf("free the state lock: %w", unlocking))
	}
	e.lockID = ""
	return err
}

// Trouble gives the error with which Terraform's last read, write or lock ended; nil when that went well. Terraform's own message
// says only that there was one. It is a *job.LockedError when another attempt has the lock.
func (e *Endpoint) Trouble() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.trouble
}

func (e *Endpoint) knows(r *http.Request) bool {
	user, password, given := r.BasicAuth()
	right := subtle.ConstantTimeCompare([]byte(user), []byte(e.user)) & subtle.ConstantTimeCompare([]byte(password), []byte(e.password))
	return given && right == 1
}
