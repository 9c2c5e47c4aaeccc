package pgcluster

import (
	"fmt"
	"os"
	"syscall"
)

// childAttributes put the child into a separate process group, so that a Ctrl-C for this process
// does not reach it. They make the kernel send signal to the child when the thread that started it
// ends, which includes a kill -9 of this process.
func childAttributes(credential *syscall.Credential, signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential, Setpgid: true, Pdeathsig: signal}
}

// commandLine returns the arguments of a process, each between two zero bytes, or the empty string
// if the process does not exist.
func commandLine(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(content) == 0 {
		return ""
	}
	return "\x00" + string(content)
}
