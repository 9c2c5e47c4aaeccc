package pgcluster

import (
	"fmt"
	"os"
	"syscall"
)

// childAttributes put the child into a process group of its own, so that a Ctrl-C meant for us does not reach it, and have the
// kernel send it signal when the thread that started it ends, which is how it hears of a kill -9 of ours.
func childAttributes(credential *syscall.Credential, signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential, Setpgid: true, Pdeathsig: signal}
}

// commandLine gives the arguments of a process, each between two zero bytes; empty when there is no such process.
func commandLine(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(content) == 0 {
		return ""
	}
	return "\x00" + string(content)
}
