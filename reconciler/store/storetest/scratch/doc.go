// Package scratch creates a directory for a disposable Postgres. The command in ../postgres,
// which runs all tests with one server, uses it; never use it for data that must survive.
package scratch

import "os"

// enough is the number of bytes that must be free in memory. A test run has dozens of databases
// of ten megabytes each at a time, and its write-ahead log.
const enough = 2 << 30

// Dir creates an empty directory, in memory if the system has enough, else in the system's
// temporary directory: a test's database is a copy of a thousand small files, which takes three
// times as long on a disk. The caller removes the directory.
func Dir(pattern string) (string, error) {
	if in := memory(); in != "" {
		if dir, err := os.MkdirTemp(in, pattern); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", pattern)
}
