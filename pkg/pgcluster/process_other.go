//go:build !linux

package pgcluster

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes put the child into a process group of its own. Only Linux tells a child that its parent was killed; elsewhere
// the next Start stops what was left.
func childAttributes(credential *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential, Setpgid: true}
}

// commandLine gives the arguments of a process, each between two zero bytes; empty when there is no such process. Arguments with
// spaces in them come apart.
func commandLine(pid int) string {
	said, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return "\x00" + strings.Join(strings.Fields(string(said)), "\x00") + "\x00"
}
