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

// Adopt makes this process the parent of all that its descendants leave behind when they end, so that a process which forks twice
// and opens a session of its own is still found below the job that started it.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of what this job's processes leave behind: %w", err)
	}
	return nil
}

// Interrupt sends SIGINT to the job process and to what it started in its own process group.
func (j Job) Interrupt() error {
	stat, err := spool.ReadStat(j.Leader.PID)
	if err != nil || stat.Start != j.Leader.Start || j.Leader.Boot != spool.Boot() {
		return ErrNone
	}
	if err := syscall.Kill(-j.Leader.PID, syscall.SIGINT); err != nil {
		return fmt.Errorf("interrupt process group %d: %w", j.Leader.PID, err)
	}
	return nil
}

// Kill kills every process of the job and gives how many there were. Called until it gives none, nothing of the job is left.
func (j Job) Kill() (int, error) {
	if j.Leader.Boot == spool.Boot() {
		killCgroup(j.Leader.Cgroup) // at once, so that nothing forks faster than it is killed
	}
	members, err := j.members()
	if err != nil {
		return 0, err
	}
	return len(members), killEach(members)
}

// InterruptRest sends SIGINT to what a dead job process ran: what is in its own process group, and the programs that lead one of
// their own, each of which sees to what it started. It gives how many processes of the job there are. A second interrupt tells
// Terraform to leave everything as it is, so this is called once.
func (j Job) InterruptRest() (int, error) {
	members, err := j.members()
	if err != nil {
		return 0, err
	}
	for _, member := range members {
		if member.Group != member.PID && member.Group != j.Leader.PID {
			continue
		}
		if err := signalOne(member, os.Interrupt); err != nil {
			return len(members), err
		}
	}
	return len(members), nil
}

// Living gives how many processes of the job there are.
func (j Job) Living() (int, error) {
	members, err := j.members()
	return len(members), err
}

// KillBelow kills what descends from this process, which has to have called Adopt, and gives how many there were. Called until it
// gives none, it leaves nothing behind.
func KillBelow() (int, error) {
	all, err := spool.Processes()
	if err != nil {
		return 0, err
	}
	members := living(all, below(all, map[int]bool{os.Getpid(): true}))
	for i, member := range members {
		if member.PID == os.Getpid() {
			members = append(members[:i], members[i+1:]...)
			break
		}
	}
	return len(members), killEach(members)
}

// Children gives the children of this process.
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

// KillStrays kills the children of this process that are not in known and do not belong to a job of spared, and takes those that
// have ended off the system's list. It gives how many lived. In a process that has called Adopt, or is the first of its container,
// they are what a job has left behind whose own process is gone.
func KillStrays(known map[int]bool, spared []Job) (int, error) {
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
			_, _ = unix.Wait4(stat.PID, nil, unix.WNOHANG, nil) // at the next look, else
			continue
		}
		strays[stat.PID] = true
	}
	members := living(all, below(all, strays))
	return len(members), killEach(members)
}

// Memory gives how many bytes the processes of the job have in memory that are no copies of files: what would have to be swapped
// out.
func (j Job) Memory() (int64, error) {
	members, err := j.members()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, member := range members {
		// statm: size, resident and shared, in pages (proc_pid_statm(5)). One that has just ended has none.
		content, _ := os.ReadFile("/proc/" + strconv.Itoa(member.PID) + "/statm")
		if fields := strings.Fields(string(content)); len(fields) > 2 {
			resident, _ := strconv.ParseInt(fields[1], 10, 64)
			shared, _ := strconv.ParseInt(fields[2], 10, 64)
			sum += max(0, resident-shared) * int64(os.Getpagesize())
		}
	}
	return sum, nil
}

// members returns the live processes of the job.
func (j Job) members() ([]spool.Stat, error) {
	leader := j.Leader
	if leader.PID <= 1 || leader.PID == os.Getpid() || leader.Boot != spool.Boot() {
		return nil, nil // before a reboot, or never
	}
	all, err := spool.Processes()
	if err != nil {
		return nil, err
	}
	for pid, stat := range all {
		if stat.Start < leader.Start || pid == os.Getpid() {
			delete(all, pid) // it was there before, so it is nobody's of this job
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
	return living(all, related(all, chosen)), nil
}

// related adds to chosen all that descends from them, and all that is in a session with them, until there is no more. The number of
// a session is given out again only when the session is empty, so as long as one of them is in it, all of it is the job's. The
// session of this process is none of the job's.
func related(all map[int]spool.Stat, chosen map[int]bool) map[int]bool {
	own, _ := unix.Getsid(0)
	sessions := map[int]bool{}
	for grown := true; grown; {
		below(all, chosen)
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

// below adds to chosen all that descends from them.
func below(all map[int]spool.Stat, chosen map[int]bool) map[int]bool {
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

func living(all map[int]spool.Stat, chosen map[int]bool) []spool.Stat {
	var members []spool.Stat
	for pid := range chosen {
		if stat, there := all[pid]; there && stat.State != 'Z' && stat.State != 'X' {
			members = append(members, stat)
		}
	}
	return members
}

func killEach(members []spool.Stat) error {
	for _, member := range members {
		if err := signalOne(member, os.Kill); err != nil {
			return err
		}
	}
	return nil
}

// signalOne sends a signal to that very process, and is content when it is gone: os.FindProcess holds on to it where the kernel can,
// and then it is compared, so that a number that was given out again in between hits nobody else.
func signalOne(stat spool.Stat, signal os.Signal) error {
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
