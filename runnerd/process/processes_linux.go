package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Adopt makes this process the parent of all its orphaned descendants, so that a process
// that forks twice and opens its own session is still found below the job that started it.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of what this job's processes leave behind: %w", err)
	}
	return nil
}

// Interrupt sends SIGINT to the job process and to the processes in its process group.
func (j Job) Interrupt() error {
	stat, err := spool.ReadStat(j.Leader.PID)
	if err != nil || stat.Start != j.Leader.Start || j.Leader.Boot != spool.Boot() {
		return ErrNoProcess
	}
	if err := syscall.Kill(-j.Leader.PID, syscall.SIGINT); err != nil {
		return fmt.Errorf("interrupt process group %d: %w", j.Leader.PID, err)
	}
	return nil
}

// Kill kills every process of the job and returns how many there were. When it returns 0,
// no process of the job is left.
func (j Job) Kill() (int, error) {
	if j.Leader.Boot == spool.Boot() {
		killCgroup(j.Leader.Cgroup) // all at once, so that nothing forks faster than it is killed
	}
	members, err := j.members()
	if err != nil {
		return 0, err
	}
	return len(members), killAll(members)
}

// InterruptOrphans sends SIGINT to the processes of a dead job process: those in its process
// group, and the programs that lead their own group, each of which ends the processes that it
// started. It returns the number of processes of the job. It is called once, because a second
// interrupt makes Terraform stop immediately.
func (j Job) InterruptOrphans() (int, error) {
	members, err := j.members()
	if err != nil {
		return 0, err
	}
	for _, member := range members {
		if member.Group != member.PID && member.Group != j.Leader.PID {
			continue
		}
		if err := signalProcess(member, os.Interrupt); err != nil {
			return len(members), err
		}
	}
	return len(members), nil
}

// CountLive returns the number of processes of the job.
func (j Job) CountLive() (int, error) {
	members, err := j.members()
	return len(members), err
}

// KillDescendants kills the descendants of this process, which must have called Adopt, and returns
// how many there were. When it returns 0, none is left.
func KillDescendants() (int, error) {
	all, err := spool.Processes()
	if err != nil {
		return 0, err
	}
	members := liveOf(all, addDescendants(all, map[int]bool{os.Getpid(): true}))
	for i, member := range members {
		if member.PID == os.Getpid() {
			members = append(members[:i], members[i+1:]...)
			break
		}
	}
	return len(members), killAll(members)
}

// Children returns the children of this process.
func Children() (map[int]bool, error) {
	all, err := spool.Processes()
	children := map[int]bool{}
	for _, stat := range all {
		if stat.Parent == os.Getpid() {
			children[stat.PID] = true
		}
	}
	return children, err
}

// KillOrphans kills the children of this process that are neither in known nor part of a job
// of spared, and reaps those that have ended. It returns how many were alive. In a process that
// has called Adopt, or that is the first of its container, these are the processes that a job
// left behind after its own process ended.
func KillOrphans(known map[int]bool, spared []Job) (int, error) {
	belongs := map[int]bool{}
	for _, job := range spared {
		members, err := job.members()
		if err != nil {
			return 0, err
		}
		for _, member := range members {
			belongs[member.PID] = true
		}
	}
	all, err := spool.Processes()
	if err != nil {
		return 0, err
	}
	strays := map[int]bool{}
	for _, stat := range all {
		if stat.Parent != os.Getpid() || known[stat.PID] || belongs[stat.PID] {
			continue
		}
		if stat.State == 'Z' {
			_, _ = unix.Wait4(stat.PID, nil, unix.WNOHANG, nil) // otherwise the next call reaps it
			continue
		}
		strays[stat.PID] = true
	}
	members := liveOf(all, addDescendants(all, strays))
	return len(members), killAll(members)
}

// Memory returns the bytes of memory that the job's processes use, without memory that is
// backed by files on a disk: what would have to be swapped out. Memory that several processes
// share counts for each of them.
func (j Job) Memory() (int64, error) {
	members, err := j.members()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, member := range members {
		// A process that has just ended has no memory. The sum of RssAnon, RssFile and RssShmem is VmRSS, see
		// proc_pid_status(5). Where the kernel does not report RssFile, copies of files count, too.
		content, _ := os.ReadFile("/proc/" + strconv.Itoa(member.PID) + "/status")
		sum += max(0, statusBytes(string(content), "VmRSS")-statusBytes(string(content), "RssFile"))
	}
	return sum, nil
}

// statusBytes returns a size from the status of a process, or 0 where it is missing.
func statusBytes(status, name string) int64 {
	for line := range strings.Lines(status) {
		if size, found := strings.CutPrefix(line, name+":"); found {
			size = strings.TrimSuffix(strings.TrimSpace(size), " kB")
			kib, _ := strconv.ParseInt(size, 10, 64)
			return kib << 10
		}
	}
	return 0
}

// members returns the live processes of the job.
func (j Job) members() ([]spool.Stat, error) {
	leader := j.Leader
	if leader.PID <= 1 || leader.PID == os.Getpid() || leader.Boot != spool.Boot() {
		return nil, nil // from before a reboot, or not started
	}
	all, err := spool.Processes()
	if err != nil {
		return nil, err
	}
	for pid, stat := range all {
		if stat.Start < leader.Start || pid == os.Getpid() {
			delete(all, pid) // it is older than the job, so it does not belong to it
		}
	}
	chosen := map[int]bool{}
	for _, pid := range cgroupMembers(leader.Cgroup) {
		chosen[pid] = true
	}
	for _, seen := range append([]spool.Member{{PID: leader.PID, Start: leader.Start}}, j.Members...) {
		if stat, there := all[seen.PID]; there && stat.Start == seen.Start {
			chosen[seen.PID] = true
		}
	}
	return liveOf(all, addRelated(all, chosen)), nil
}

// addRelated adds to chosen all descendants of its processes and all processes in their sessions,
// repeatedly until nothing is added. The kernel reuses a session's id only when the session
// is empty, so if one process of a session is the job's, all of it is. The session of this
// process never belongs to the job.
func addRelated(all map[int]spool.Stat, chosen map[int]bool) map[int]bool {
	own, _ := unix.Getsid(0)
	sessions := map[int]bool{}
	for grown := true; grown; {
		addDescendants(all, chosen)
		for pid := range chosen {
			if stat, there := all[pid]; there && stat.Session > 0 && stat.Session != own {
				sessions[stat.Session] = true
			}
		}
		grown = false
		for pid, stat := range all {
			if sessions[stat.Session] && !chosen[pid] {
				chosen[pid], grown = true, true
			}
		}
	}
	return chosen
}

// addDescendants adds all descendants of the processes in chosen.
func addDescendants(all map[int]spool.Stat, chosen map[int]bool) map[int]bool {
	for grown := true; grown; {
		grown = false
		for _, stat := range all {
			if chosen[stat.Parent] && !chosen[stat.PID] {
				chosen[stat.PID], grown = true, true
			}
		}
	}
	return chosen
}

func liveOf(all map[int]spool.Stat, chosen map[int]bool) []spool.Stat {
	var members []spool.Stat
	for pid := range chosen {
		if stat, there := all[pid]; there && stat.State != 'Z' && stat.State != 'X' {
			members = append(members, stat)
		}
	}
	return members
}

func killAll(members []spool.Stat) error {
	for _, member := range members {
		if err := signalProcess(member, os.Kill); err != nil {
			return err
		}
	}
	return nil
}

// signalProcess sends a signal to exactly this process, and returns nil when it has ended.
// os.FindProcess holds a reference to the process where the kernel supports it, and the start
// time is compared afterwards, so that a process with the reused id is never signaled.
func signalProcess(stat spool.Stat, signal os.Signal) error {
	process, gone := os.FindProcess(stat.PID)
	if gone != nil {
		return nil
	}
	defer func() { _ = process.Release() }()
	now, gone := spool.ReadStat(stat.PID)
	if gone != nil || now.Start != stat.Start {
		return nil
	}
	if err := process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to process %d: %w", signal, stat.PID, err)
	}
	return nil
}
