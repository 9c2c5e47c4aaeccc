// Package scratch makes the directory of a Postgres that is thrown away with all that is in it. The command beside it, which runs a
// whole test run on one, uses it; it is nothing for data that somebody wants back.
package scratch

import "os"

// enough is how many bytes must be free in memory. A test run has some dozens of databases of ten megabytes each at a time, and its
// write-ahead log.
const enough = 2 << 30

// Dir makes an empty directory, in memory where the system has room there, else in the system's temporary directory: a test's own
// database is a copy of a thousand small files, which takes three times as long on a disk. Whoever asked removes it.
func Dir(pattern string) (string, error) {
	if in := memory(); in != "" {
		if dir, err := os.MkdirTemp(in, pattern); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", pattern)
}
