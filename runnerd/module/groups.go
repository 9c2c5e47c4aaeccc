package module

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// groups remembers the process groups of what this process has started, at the moment of an interrupt. Terraform leads a group of
// its own, whose number the library does not tell. When Terraform does not end in time, all of its group has to: its providers
// would go on changing things, and the library waits as long as anybody holds Terraform's output open.
type groups struct {
	log   *job.Log
	stop  func() bool
	over  chan struct{} // closed when the command has returned
	ended chan struct{} // closed when the watcher has
	found []int
}

// watchGroups starts to wait for the end of ctx, and from then on grants grace. finish must be called when the command has
// returned.
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

// leadingChildren lists the children of this process that lead a process group. Where there is no /proc it finds none.
func leadingChildren() (found []int) {
	all, err := spool.Processes()
	if err != nil {
		return nil
	}
	for pid, stat := range all {
		if stat.Parent == os.Getpid() && stat.Group == pid {
			found = append(found, pid)
		}
	}
	return found
}
