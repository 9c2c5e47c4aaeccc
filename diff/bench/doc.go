// Package bench measures how long a diff takes, each figure as a ratio to a named peer in the same run, on inputs that it makes itself.
//
// It is a module of its own, because its peers are nothing that nuon should depend on. It asserts nothing: `make bench` shows the figures.
package bench
