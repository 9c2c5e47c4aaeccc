package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nuon-toolkit/nuon/pkg/hardening"
)

// VarSpare is the number of the open socket from which a spare job process receives its Assignment.
const VarSpare = "NUON_JOB_SPARE"

// Assignment gives an attempt to a spare job process: one that was started before there was an attempt, has loaded its
// packages, and holds nothing.
type Assignment struct {
	// Dir is the attempt's spool directory.
	Dir string `json:"dir"`
	// Variables are those of the attempt. The process was started with all others.
	Variables map[string]string `json:"variables"`

	// Lock, Secrets, Stdout and Stderr are the open files that a job process is started with.
	Lock, Secrets, Stdout, Stderr *os.File `json:"-"`
}

// maxAssignment bounds the JSON of an Assignment, in bytes. It fits into the buffer of a socket.
const maxAssignment = 32 << 10

// assignedFiles is the number of open files that come with an Assignment.
const assignedFiles = 4

// Send sends the assignment to a spare job process. After an error the process has not received it and never will,
// once the connection is closed.
func (a Assignment) Send(to *net.UnixConn) error {
	message, err := json.Marshal(a)
	if err == nil && len(message) > maxAssignment {
		err = fmt.Errorf("it has %d bytes", len(message))
	}
	if err != nil {
		return fmt.Errorf("assign an attempt to a spare process: %w", err)
	}
	files := syscall.UnixRights(int(a.Lock.Fd()), int(a.Secrets.Fd()), int(a.Stdout.Fd()), int(a.Stderr.Fd()))
	sent, _, err := to.WriteMsgUnix(message, files, nil)
	if err == nil && sent < len(message) {
		err = io.ErrShortWrite // what was sent is no JSON, so the process refuses it
	}
	if err != nil {
		return fmt.Errorf("assign an attempt to a spare process: %w", err)
	}
	return nil
}

// AwaitAssignment waits in a spare job process for its attempt, and turns the process into the one that runnerd would
// have started for it: in its directory, with its variables, its open files and its output. It returns false when
// runnerd has ended, or does not need the process.
func AwaitAssignment() (assigned bool, err error) {
	if err := hardening.HideMemory(); err != nil {
		return false, err
	}
	number, err := strconv.Atoi(os.Getenv(VarSpare))
	if err != nil {
		return false, fmt.Errorf("%s is %q, which is not the number of an open file", VarSpare, os.Getenv(VarSpare))
	}
	message, files, err := receive(number)
	if err != nil || len(message) == 0 {
		return false, err
	}
	var a Assignment
	if err := json.Unmarshal(message, &a); err != nil {
		return false, fmt.Errorf("read the attempt of this process: %w", err)
	}
	if len(files) != assignedFiles {
		return false, fmt.Errorf("read the attempt of this process: it comes with %d files, not %d", len(files),
			assignedFiles)
	}
	for i, output := range []*os.File{os.Stdout, os.Stderr} {
		if err := errors.Join(unix.Dup2(files[2+i], int(output.Fd())), syscall.Close(files[2+i])); err != nil {
			return false, fmt.Errorf("open the output of this job: %w", err)
		}
	}
	if err := os.Chdir(a.Dir); err != nil {
		return false, fmt.Errorf("enter the directory of this job: %w", err)
	}
	variables := map[string]string{VarDir: a.Dir, VarLock: strconv.Itoa(files[0]), VarSecrets: strconv.Itoa(files[1])}
	for _, each := range []map[string]string{a.Variables, variables} {
		for name, value := range each {
			if err := os.Setenv(name, value); err != nil {
				return false, fmt.Errorf("set %s: %w", name, err)
			}
		}
	}
	return true, os.Unsetenv(VarSpare)
}

// receive reads the message of a socket to its end, with the files that come with it, and closes the socket. The
// message is empty if the other side was closed.
func receive(number int) (message []byte, files []int, err error) {
	syscall.CloseOnExec(number)
	socket := os.NewFile(uintptr(number), "spare")
	conn, err := net.FileConn(socket)
	if err = errors.Join(err, socket.Close()); err != nil {
		return nil, nil, fmt.Errorf("wait for an attempt: %w", err)
	}
	defer func() { _ = conn.Close() }()
	socketConn, is := conn.(*net.UnixConn)
	if !is {
		return nil, nil, fmt.Errorf("wait for an attempt: %s is not a socket of this machine", VarSpare)
	}
	const fileNumber = 4 // bytes of the number of a file
	part, rights := make([]byte, maxAssignment), make([]byte, syscall.CmsgSpace(assignedFiles*fileNumber))
	for {
		n, control, _, _, err := socketConn.ReadMsgUnix(part, rights)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return bytes.TrimSpace(message), files, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("wait for an attempt: %w", err)
		}
		message = append(message, part[:n]...)
		got, err := filesOf(rights[:control])
		if err != nil {
			return nil, nil, err
		}
		files = append(files, got...)
	}
}

// filesOf returns the numbers of the files in a control message.
func filesOf(control []byte) (files []int, err error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	for i := range messages {
		var found []int
		if err == nil {
			found, err = syscall.ParseUnixRights(&messages[i])
		}
		files = append(files, found...)
	}
	if err != nil {
		return nil, fmt.Errorf("receive the open files of an attempt: %w", err)
	}
	for _, file := range files {
		syscall.CloseOnExec(file)
	}
	return files, nil
}
