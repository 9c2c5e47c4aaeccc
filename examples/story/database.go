package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// database is how to reach the database of the `nuon dev` that keeps its data in dir: DATABASE_URL, else the private cluster's
// socket, which is elsewhere when that directory has a long name. Postgres writes where into the fifth line of its pid file.
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
