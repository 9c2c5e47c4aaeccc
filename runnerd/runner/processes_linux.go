package runner

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// interruptGroup sends SIGINT to the job process and to what it started in its own process group.
func interruptGroup(process spool.Process) error {
	stat, err := spool.ReadStat(process.PID)
	if err != nil || stat.Start != process.Start || process.Boot != spool.Boot() {
		return errNoProcess
	}
	if err := syscall.Kill(-process.PID, syscall.SIGINT); err != nil {
		return fmt.Errorf("interrupt process group %d: %w", process.PID, err)
	}
	return nil
}

// killAll kills every process of the job and gives how many there were. Called until it gives none, nothing of the job is left.
//
// The job process leads a session, and that stays with all that it starts, also with what moves to a process group of its own (as
// Terraform does) and what is left when its parent dies. What opens a new session is found as long as its parent is.
func killAll(leader spool.Process) (int, error) {
	members, err := membersOf(leader)
	if err != nil {
		return 0, err
	}
	for _, member := range members {
		if err := killOne(member); err != nil {
			return len(members), err
		}
	}
	return len(members), nil
}

// membersOf gives the live processes of the session that leader leads or led, and all that descends from them.
func membersOf(leader spool.Process) ([]spool.Stat, error) {
	if leader.PID <= 1 || leader.PID == os.Getpid() || leader.Boot != spool.Boot() {
		return nil, nil // before a reboot, or never
	}
	all, err := spool.Processes()
	if err != nil {
		return nil, err
	}
	if now, there := all[leader.PID]; there && now.Start != leader.Start {
		// The number is given out again, so its session was empty before.
		return nil, nil
	}
	chosen := map[int]bool{}
	for _, stat := range all {
		if stat.Session == leader.PID && stat.Start >= leader.Start {
			chosen[stat.PID] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, stat := range all {
			if chosen[stat.Parent] && !chosen[stat.PID] {
				chosen[stat.PID], grown = true, true
			}
		}
	}
	var members []spool.Stat
	for pid := range chosen {
		if stat := all[pid]; stat.State != 'Z' && stat.State != 'X' {
			members = append(members, stat)
		}
	}
	return members, nil
}

// killOne kills that very process: os.FindProcess holds on to it where the kernel can, and then it is compared, so that a number
// that was given out again in between hits nobody else.
func killOne(stat spool.Stat) error {
	process, gone := os.FindProcess(stat.PID)
	if gone != nil {
		return nil // there is nothing left to kill
	}
	defer func() { _ = process.Release() }()
	now, gone := spool.ReadStat(stat.PID)
	if gone != nil || now.Start != stat.Start {
		return nil // there is nothing left to kill
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", stat.PID, err)
	}
	return nil
}
