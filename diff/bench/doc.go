// Package bench measures how long a diff takes. Each figure is a ratio to a named peer in the same
// run, on inputs that the package generates.
//
// It is a separate module, because nuon should not depend on its peers. It asserts nothing: `make
// bench` prints the figures.
package bench
