package state

import (
	"context"
	"crypto/md5"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

const (
	// maxState bounds a state, in bytes. Terraform itself becomes slow far below that.
	maxState = 256 << 20
	// maxLock bounds the description of a lock, in bytes.
	maxLock = 64 << 10
)

// serve implements the protocol of Terraform's http backend. Terraform shows its error
// responses to people, so they are sentences.
func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	if !e.isAuthorized(r) {
		http.Error(w, "this state endpoint belongs to one job", http.StatusUnauthorized)
		return
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	switch r.Method {
	case http.MethodGet:
		e.get(w, r)
	case http.MethodPost:
		e.post(w, r)
	case "LOCK":
		e.lock(w, r)
	case "UNLOCK":
		e.unlock(w, r)
	default:
		// DELETE would forget what exists; a destroy writes an empty state instead.
		http.Error(w, "a state can be read, written and locked, nothing else", http.StatusMethodNotAllowed)
	}
}

func (e *Endpoint) get(w http.ResponseWriter, r *http.Request) {
	now, err := e.read(r.Context())
	if e.err = err; err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if now.Plain.IsZero() {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(now.Plain.Reveal()) // Terraform has ended if it does not read this
}

// Read returns the newest version: the one that this process wrote, or else that of Backend.
func (e *Endpoint) Read(ctx context.Context) (Version, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.read(ctx)
}

// LastVersion returns the version that was read or written last, without a call to Backend.
// It returns the zero Version before that.
func (e *Endpoint) LastVersion() Version {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.now == nil {
		return Version{}
	}
	return *e.now
}

func (e *Endpoint) read(ctx context.Context) (Version, error) {
	// While this process holds the lock nobody else writes. Reading the cached version
	// is not only faster: Terraform reads before it writes, also in a canceled job, whose
	// calls to Backend fail.
	if e.now != nil && (e.written || e.lockID != "") {
		return *e.now, nil
	}
	kept, found, err := e.options.Backend.GetState(ctx)
	if err != nil {
		return Version{}, fmt.Errorf("read the state from the control plane: %w", err)
	}
	if !found {
		e.now = &Version{}
		return Version{}, nil
	}
	version, err := OpenVersion(kept, e.options.Key, e.options.Context)
	if err != nil {
		return Version{}, err
	}
	version.Sensitive(e.options.OnSecret)
	e.now = &version
	return version, nil
}

func (e *Endpoint) post(w http.ResponseWriter, r *http.Request) {
	if e.lockID == "" {
		http.Error(w, "a state is written under its lock; do not switch locking off", http.StatusConflict)
		return
	}
	if r.URL.Query().Get("ID") != e.lockID {
		http.Error(w, "the state is locked under another lock id", http.StatusConflict)
		return
	}
	plain, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxState))
	if err != nil {
		http.Error(w, fmt.Sprintf("the state did not come whole, or has more than %d bytes", maxState), http.StatusBadRequest)
		return
	}
	if !isComplete(r, plain) {
		http.Error(w, "the state differs from its Content-MD5", http.StatusBadRequest)
		return
	}
	if e.err = e.store(r.Context(), plain); e.err != nil {
		http.Error(w, e.err.Error(), http.StatusInternalServerError)
	}
}

// isComplete checks the digest that Terraform sends. Terraform chose MD5, and it protects
// only against accidents.
func isComplete(r *http.Request, content []byte) bool {
	claimed := r.Header.Get("Content-MD5")
	if claimed == "" {
		return true
	}
	sum := md5.Sum(content)
	return subtle.ConstantTimeCompare([]byte(base64.StdEncoding.EncodeToString(sum[:])), []byte(claimed)) == 1
}

// StoreState stores a state that did not come over HTTP: one that Terraform wrote to errored.tfstate
// because the endpoint did not accept it. first is as in ParseStateFile.
func (e *Endpoint) StoreState(ctx context.Context, plain []byte, first string) error {
	version, err := ParseStateFile(plain, first)
	if err != nil {
		return err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.store(ctx, version.Plain.Reveal())
}

// store seals a state, writes it to disk, and makes it the newest. With a full disk nothing
// is lost as long as the control plane can be reached.
func (e *Endpoint) store(ctx context.Context, plain []byte) error {
	version, err := parse(plain)
	if err != nil {
		return err
	}
	// First, because these values may appear in Terraform's output immediately.
	sensitive(plain, e.options.OnSecret)
	closed, err := version.seal(e.options.Key, e.options.Context)
	if err != nil {
		return err
	}
	if err := e.options.Backend.SpoolState(closed); err != nil {
		err = fmt.Errorf("keep the state on the runner's disk: %w", err)
		if delivering := e.options.Backend.DeliverState(ctx, closed); delivering != nil {
			return errors.Join(err, delivering)
		}
		e.options.Logf("%v; it was delivered at once instead: make room on the disk", err)
	}
	e.now, e.written = &version, true
	return nil
}

func (e *Endpoint) lock(w http.ResponseWriter, r *http.Request) {
	info, id, err := readLock(r)
	if err != nil || id == "" {
		http.Error(w, "a lock needs its description in JSON, with an ID", http.StatusBadRequest)
		return
	}
	if e.lockID != "" {
		w.WriteHeader(http.StatusLocked)
		_, _ = fmt.Fprintf(w, `{"ID":%q,"Who":"this job"}`, e.lockID)
		return
	}
	err = e.options.Backend.LockState(r.Context(), api.StateLock{ID: id, Info: info})
	var held *job.LockedError
	if errors.As(err, &held) {
		e.err = held
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(describeLock(held.Holder))
		return
	}
	if e.err = err; err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	e.lockID = id
	if !e.written {
		e.now = nil // the version from before the lock may be old
	}
}

// describeLock returns the holder's lock as Terraform expects it, so that Terraform's
// message names the holder.
func describeLock(holder api.StateLock) []byte {
	info := map[string]any{}
	if json.Unmarshal(holder.Info, &info) != nil || info == nil {
		info = map[string]any{}
	}
	if info["ID"] == nil {
		info["ID"] = holder.ID
	}
	if holder.Holder != "" {
		info["Who"] = holder.Holder
	}
	described, err := json.Marshal(info)
	if err != nil {
		return []byte("{}")
	}
	return described
}

// unlock also accepts an empty body, which force-unlock sends.
func (e *Endpoint) unlock(w http.ResponseWriter, r *http.Request) {
	_, id, err := readLock(r)
	if err != nil {
		http.Error(w, "the description of a lock is JSON", http.StatusBadRequest)
		return
	}
	if e.lockID != "" && id != "" && id != e.lockID {
		http.Error(w, "the state is locked under another lock id", http.StatusConflict)
		return
	}
	if err := e.options.Backend.UnlockState(context.WithoutCancel(r.Context())); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	e.lockID = ""
}

func readLock(r *http.Request) (info json.RawMessage, id string, err error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLock))
	if err != nil || len(body) == 0 {
		return nil, "", err
	}
	var said struct {
		ID string `json:"ID"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, "", err
	}
	return body, said.ID, nil
}
