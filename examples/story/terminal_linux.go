package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// onTerminal runs a command on a terminal of its own, presses Ctrl-C (if so told) when it has shown what matches, and gives all
// that it showed.
func onTerminal(command *exec.Cmd, until *regexp.Regexp, press bool, limit time.Duration) ([]byte, error) {
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
	shown, found := read(screen, until, press)
	err = command.Wait()
	switch {
	case !late.Stop():
		return shown, fmt.Errorf("it has not ended within %s", limit)
	case !found:
		return shown, fmt.Errorf("it did not show %q", until)
	}
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		err = nil // the exit code says it
	}
	return shown, err
}

// read reads a screen until its program has gone.
func read(screen *os.File, until *regexp.Regexp, press bool) (shown []byte, found bool) {
	part := make([]byte, 4096)
	for {
		n, err := screen.Read(part)
		shown = append(shown, part[:n]...)
		if err != nil {
			return shown, found
		}
		if !found && until.Match(shown) {
			if found = true; press {
				_, _ = screen.WriteString("\x03") // a program that has ended needs no Ctrl-C
			}
		}
	}
}

// openTerminal makes a pseudo-terminal of 100 columns: the side of the person, and that of the program.
func openTerminal() (screen, keys *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	screen = os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}))
	if err == nil {
		keys, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a terminal: %w", err), screen.Close())
	}
	return screen, keys, nil
}
