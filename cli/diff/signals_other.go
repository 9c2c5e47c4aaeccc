//go:build !unix

package diff

// awaitSignals does nothing: consoles here send no signals.
func awaitSignals() {}
