//go:build !linux

package pgcluster

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes put the child into a separate process group. Only Linux signals a child when its
// parent was killed; on other systems the next Start stops the remaining process.
func childAttributes(credential *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential, Setpgid: true}
}

// commandLine returns the arguments of a process, each between two zero bytes, or the empty string
// if the process does not exist. It splits arguments that contain spaces.
func commandLine(pid int) string {
	said, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return "\x00" + strings.Join(strings.Fields(string(said)), "\x00") + "\x00"
}
