//go:build race

package runner_test

// raced says whether this program has the race detector.
const raced = true
