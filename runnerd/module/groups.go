package module

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// groups remembers the process groups of what this process has started, at the
// moment of an interrupt. Terraform leads a group of its own, whose number the
// library does not tell. When Terraform does not end in time, all of its group has
// to: its providers would go on changing things, and the library waits as long
// as anybody holds Terraform's output open.
type groups struct {
	log   *job.Log
	stop  func() bool
	over  chan struct{} // closed when the command has returned
	ended chan struct{} // closed when the watcher has
	found []int
}

// watchGroups starts to wait for the end of ctx, and from then on grants grace.
// finish must be called when the command has returned.
func watchGroups(ctx context.Context, grace time.Duration, log *job.Log) *groups {
	watching := &groups{log: log, over: make(chan struct{}), ended: make(chan struct{})}
	watching.stop = context.AfterFunc(ctx, func() {
		defer close(watching.ended)
		watching.found = leadingChildren()
		patience := time.NewTimer(grace)
		defer patience.Stop()
		select {
		case <-watching.over:
		case <-patience.C:
			watching.kill("Terraform did not end in time; it was killed with all that it had started")
		}
	})
	return watching
}

// finish ends the watching, and what a Terraform that is gone has left behind.
func (g *groups) finish() {
	close(g.over)
	if g.stop() {
		return // there was no interrupt
	}
	<-g.ended
	g.found = slices.DeleteFunc(g.found, func(group int) bool {
		return syscall.Kill(group, 0) == nil // its leader lives, so it is not what has just ended
	})
	g.kill("Terraform had left processes behind; they were killed")
}

func (g *groups) kill(why string) {
	for _, group := range g.found {
		if syscall.Kill(-group, syscall.SIGKILL) == nil {
			g.log.Warn("%s", why)
		}
	}
}

// leadingChildren lists the children of this process that lead a process group.
// Where there is no /proc it finds none.
func leadingChildren() []int {
	var found []int
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp …; the name may hold spaces and brackets.
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		end := bytes.LastIndexByte(content, ')')
		if err != nil || end < 0 {
			continue
		}
		fields := bytes.Fields(content[end+1:])
		if len(fields) < 3 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil || parent != os.Getpid() {
			continue
		}
		if group, err := strconv.Atoi(string(fields[2])); err == nil && group == pid {
			found = append(found, group)
		}
	}
	return found
}
