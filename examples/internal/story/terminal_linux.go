package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// onTerminal runs a command on a new terminal and returns its output. It calls watch for each part
// of the output, with a function to press keys.
func onTerminal(command *exec.Cmd, limit time.Duration, watch func(part []byte,
	press func(keys string))) ([]byte, error) {
	screen, keys, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer screen.Close() //nolint:errcheck // nothing is kept in it
	command.Stdin, command.Stdout, command.Stderr = keys, keys, keys
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = command.Start()
	if err = errors.Join(err, keys.Close()); err != nil {
		return nil, err
	}
	late := time.AfterFunc(limit, func() { _ = command.Process.Kill() })
	shown := read(screen, watch)
	err = command.Wait()
	if !late.Stop() {
		return shown, fmt.Errorf("it has not ended within %s", limit)
	}
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		err = nil // the exit code has the result
	}
	return shown, err
}

// read reads a screen until its program has ended.
func read(screen *os.File, watch func(part []byte, press func(keys string))) (shown []byte) {
	press := func(keys string) { _, _ = screen.WriteString(keys) } // a program that has ended needs no keys
	part := make([]byte, 4096)
	for {
		n, err := screen.Read(part)
		shown = append(shown, part[:n]...)
		if err != nil {
			return shown
		}
		watch(part[:n], press)
	}
}

// openTerminal creates a pseudo-terminal and returns the person's side and the program's side.
func openTerminal() (screen, keys *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	screen = os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: terminalRows, Col: terminalColumns}))
	if err == nil {
		keys, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a terminal: %w", err), screen.Close())
	}
	return screen, keys, nil
}
