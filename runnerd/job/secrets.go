package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// VarSecrets is the number of the open file from which a job process reads its Secrets, or in a pod the absolute path
// of the file that it takes them from.
const VarSecrets = "NUON_JOB_SECRETS"

// Secrets are passed to a job process through a pipe: other processes of the same user can read
// the environment that a process was started with, and a program that the job runs would find
// it in /proc of its parent.
type Secrets struct {
	// Token is the attempt token.
	Token string `json:"token"`
	// RegistryUsername and RegistryPassword are the credential of the registry;
	// empty where it needs none.
	RegistryUsername string `json:"registry_username,omitempty"`
	RegistryPassword string `json:"registry_password,omitempty"`
	// Environ holds variables for the job process itself that may contain secrets.
	Environ map[string]string `json:"environ,omitempty"`
	// SpecDigest is SpecDigest of the spec that runnerd has checked for a pod: the pod does nothing else. It is empty for
	// a process, which reads the spec first.
	SpecDigest string `json:"spec_digest,omitempty"`
	// OwnIdentity is set for a pod whose service account is that of the job's role: no session of the role is started.
	OwnIdentity bool `json:"own_identity,omitempty"`
}

// SpecDigest returns the digest of a spec.
func SpecDigest(spec api.JobSpec) (string, error) {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("write the spec: %w", err)
	}
	return sha256digest.Of(encoded), nil
}

// Handover returns the secrets as the content of the file that the job process of a pod takes.
func (s Secrets) Handover() ([]byte, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("hand the job its secrets: %w", err)
	}
	return encoded, nil
}

// maxSecrets bounds the JSON of Secrets, in bytes: all of it must fit into a pipe
// that is not read yet.
const maxSecrets = 32 << 10

// pipeTimeout is how long writing Secrets to a pipe may take. The kernel makes pipes small
// for a user who has very many.
const pipeTimeout = 5 * time.Second

// Pipe returns the reading end of a pipe that holds the secrets. The caller closes it.
func (s Secrets) Pipe() (*os.File, error) {
	encoded, err := json.Marshal(s)
	if err == nil && len(encoded) > maxSecrets {
		err = fmt.Errorf("the registry's credential and the OTEL_* variables have more than %d bytes together; shorten them",
			maxSecrets)
	}
	if err != nil {
		return nil, fmt.Errorf("hand the job its secrets: %w", err)
	}
	read, write, err := os.Pipe()
	if err == nil {
		_ = write.SetWriteDeadline(time.Now().Add(pipeTimeout)) // ignored for a pipe without deadlines
		_, err = write.Write(encoded)
		if err = errors.Join(err, write.Close()); err != nil {
			err = errors.Join(err, read.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("hand the job its secrets: %w", err)
	}
	return read, nil
}

// readSecrets reads the secrets from the open file with the given number, or takes them from the file with the given
// path, and sets the variables in it. Only this process sees these, because /proc shows the environment that the
// process was started with.
func readSecrets(from string) (secrets Secrets, err error) {
	var content []byte
	if filepath.IsAbs(from) {
		content, err = spool.TakeHandover(from)
	} else {
		content, err = readOpenFile(from)
	}
	if err == nil {
		err = json.Unmarshal(content, &secrets)
	}
	if err != nil {
		return secrets, fmt.Errorf("read the secrets that runnerd hands over: %w", err)
	}
	for name := range maps.Keys(secrets.Environ) {
		if err := os.Setenv(name, secrets.Environ[name]); err != nil {
			return secrets, fmt.Errorf("set %s: %w", name, err)
		}
	}
	return secrets, nil
}

// readOpenFile reads the open file with the given number, and closes it.
func readOpenFile(number string) ([]byte, error) {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("%s is %q, which is not the number of an open file", VarSecrets, number)
	}
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "secrets")
	if file == nil {
		return nil, fmt.Errorf("%s is %q, which is not the number of an open file", VarSecrets, number)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecrets))
	return content, errors.Join(err, file.Close())
}
