// Package bench measures the time to validate app configs, as a ratio to only reading and decoding
// their TOML.
//
// It contains only benchmarks; `make bench` runs them. With NUON_CORPUS it measures the apps in
// that directory, else generated apps of similar number, size and kinds.
package bench
