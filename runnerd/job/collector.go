package job

import (
	"os"
	"runtime/debug"
)

// The variable by which the garbage collector of a job process is off until Process turns it on. What the packages of this program make
// as they are loaded stays, about 10 MB; to look through that three times was a quarter of the processor time of a start.
const varCollector = "GOGC"

// WithoutCollector is the entry of the environment that a job process is to be started with.
const WithoutCollector = varCollector + "=off"

// startCollector turns the garbage collector on, and takes the variable from what this process starts.
func startCollector() error {
	debug.SetGCPercent(100)
	return os.Unsetenv(varCollector)
}
