// Package bench measures how long it takes to validate the configs of apps, as a ratio to merely reading and decoding their TOML.
//
// It holds benchmarks only; `make bench` runs them. With NUON_CORPUS it measures the apps of that directory, else apps that it makes,
// which are like those in number, size and kind.
package bench
