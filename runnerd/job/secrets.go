package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"syscall"
	"time"
)

// VarSecrets is the number of the open file that a job process reads its Secrets from.
const VarSecrets = "NUON_JOB_SECRETS"

// Secrets are what a job process gets through a pipe: other processes of its user can read the environment that a process was
// started with, and a program that the job runs would find it one directory up.
type Secrets struct {
	// Token is the attempt token.
	Token string `json:"token"`
	// RegistryUsername and RegistryPassword are the credential of the registry; empty where it asks for none.
	RegistryUsername string `json:"registry_username,omitempty"`
	RegistryPassword string `json:"registry_password,omitempty"`
	// Environ are variables for the job process itself that can hold secrets.
	Environ map[string]string `json:"environ,omitempty"`
}

// maxSecrets bounds Secrets as JSON: all of it has to fit into a pipe that nobody reads yet.
const maxSecrets = 32 << 10

// pipeWait is how long a pipe may take to accept Secrets. The kernel gives a user who has very many pipes small ones.
const pipeWait = 5 * time.Second

// Pipe returns the reading end of a pipe that holds the secrets. The caller closes it.
func (s Secrets) Pipe() (*os.File, error) {
	encoded, err := json.Marshal(s)
	if err == nil && len(encoded) > maxSecrets {
		err = fmt.Errorf("the registry's credential and the OTEL_* variables have more than %d bytes together; shorten them", maxSecrets)
	}
	if err != nil {
		return nil, fmt.Errorf("hand the job its secrets: %w", err)
	}
	read, write, err := os.Pipe()
	if err == nil {
		_ = write.SetWriteDeadline(time.Now().Add(pipeWait)) // not for a pipe that cannot have one
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

// readSecrets reads the secrets from the open file of that number, closes it, and sets the variables among them. Only this process
// sees those: the environment that the kernel shows is the one that the process was started with.
func readSecrets(number string) (Secrets, error) {
	var secrets Secrets
	fd, err := strconv.Atoi(number)
	if err != nil {
		return secrets, fmt.Errorf("%s is %q, which is not the number of an open file", VarSecrets, number)
	}
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "secrets")
	if file == nil {
		return secrets, fmt.Errorf("%s is %q, which is not the number of an open file", VarSecrets, number)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecrets))
	if err = errors.Join(err, file.Close()); err == nil {
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
