package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// database returns the DSN for the `nuon dev` with its data in dir: DATABASE_URL, otherwise the
// socket of the private cluster. If dir has a long name, the socket is elsewhere: Postgres writes
// the place to the fifth line of its pid file.
func database(dir string) (dsn string, err error) {
	if url := os.Getenv("DATABASE_URL"); url != "" {
		return url, nil
	}
	file := filepath.Join(dir, "postgres", "data", "postmaster.pid")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("find the database's socket: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 5 {
		return "", fmt.Errorf("%s names no directory of a socket:\n%s", file, text)
	}
	return "host=" + lines[4] + " user=nuon dbname=postgres sslmode=disable", nil
}
