package subprocess

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The environment variables that configure a stand-in.
const (
	varProgram = "NUON_CHILD_PROGRAM"
	varUser    = "NUON_CHILD_USER"
)

// Reexec returns the executable and the environment to pass to a library that starts
// the program at path by its own means. Where Setup has no user, these are the program and env.
// Otherwise they are the executable of this process, and env plus the variables
// that make it become that program as that user. The main function of this process's
// program calls RunReexec first.
func Reexec(path string, env map[string]string) (executable string, environ map[string]string, err error) {
	user := setup.User
	if user == nil {
		return path, env, nil
	}
	if executable, err = os.Executable(); err != nil {
		return "", nil, fmt.Errorf("find this program: %w", err)
	}
	var entries []string
	for name, value := range env {
		entries = append(entries, name+"="+value)
	}
	environ = map[string]string{varProgram: path, varUser: fmt.Sprintf("%d:%d", user.UID, user.GID)}
	for _, entry := range user.environ(entries) {
		name, value, _ := strings.Cut(entry, "=")
		environ[name] = value
	}
	return executable, environ, nil
}

// RunReexec replaces this process with the program that it stands in for, and does not return
// in that case. In any other process it does nothing.
func RunReexec() error {
	path, found := os.LookupEnv(varProgram)
	if !found {
		return nil
	}
	user, err := parseIDs(os.Getenv(varUser))
	if err != nil {
		return err
	}
	var environ []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, varProgram+"=") && !strings.HasPrefix(entry, varUser+"=") {
			environ = append(environ, entry)
		}
	}
	return execProgram(path, append([]string{path}, os.Args[1:]...), environ, user)
}

// parseIDs parses UID:GID.
func parseIDs(text string) (*User, error) {
	uid, gid, _ := strings.Cut(text, ":")
	u, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s is %q; it is UID:GID", varUser, text)
	}
	g, err := strconv.ParseUint(gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s is %q; it is UID:GID", varUser, text)
	}
	return &User{UID: uint32(u), GID: uint32(g)}, nil
}
