//go:build !unix

package console

import "os"

// inputWaits reports false: whether a line of input waits is unknown here.
func inputWaits(*os.File) bool { return false }
