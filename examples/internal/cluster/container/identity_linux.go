package container

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultPath is where programs are searched without PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// search returns the path of the program of a process. The root of the calling thread is that of the container.
func search(p Process) (string, error) {
	name, list := p.Args[0], defaultPath
	if strings.Contains(name, "/") {
		if !path.IsAbs(name) {
			name = path.Join(p.Dir, name)
		}
		if _, err := os.Stat(name); err != nil {
			return "", &StartError{fmt.Sprintf("exec: %q: no such file or directory", p.Args[0])}
		}
		return name, nil
	}
	for _, v := range p.Env {
		if value, is := strings.CutPrefix(v, "PATH="); is {
			list = value
		}
	}
	for _, dir := range strings.Split(list, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		at := path.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", &StartError{fmt.Sprintf("exec: %q: executable file not found in $PATH", name)}
}

// identify returns the user and the groups of a process. The root of the calling thread is that of the container.
func identify(p Process) (*syscall.Credential, error) {
	user, group, grouped := strings.Cut(p.User, ":")
	uid, gid := 0, 0
	if p.UID != nil {
		user = strconv.Itoa(*p.UID)
	}
	if user != "" {
		found, err := lookUp("/etc/passwd", user)
		if err != nil {
			return nil, err
		}
		uid = found.id
		if len(found.fields) > 3 {
			gid, _ = strconv.Atoi(found.fields[3])
		}
	}
	if grouped && group != "" && p.UID == nil {
		found, err := lookUp("/etc/group", group)
		if err != nil {
			return nil, err
		}
		gid = found.id
	}
	if p.GID != nil {
		gid = *p.GID
	}
	who := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, g := range p.Groups {
		who.Groups = append(who.Groups, uint32(g))
	}
	return who, nil
}

// account is a line of /etc/passwd or /etc/group.
type account struct {
	id     int
	fields []string // empty for a number that is not listed
}

// lookUp returns a user or group by its name or number.
func lookUp(file, name string) (account, error) {
	number, err := strconv.Atoi(name)
	numbered := err == nil && number >= 0
	for _, line := range linesOf(file) {
		fields := strings.Split(line, ":")
		if len(fields) < 3 {
			continue
		}
		if id, err := strconv.Atoi(fields[2]); err == nil && (numbered && id == number || !numbered && fields[0] == name) {
			return account{id, fields}, nil
		}
	}
	if !numbered {
		return account{}, &StartError{fmt.Sprintf("unable to find %s: %s does not have it", name, file)}
	}
	return account{id: number}, nil
}

// linesOf returns the lines of a file of the container, or none if it cannot be read. It does not wait for a pipe.
func linesOf(file string) []string {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}

// capabilities are the names of Linux's capabilities, in the order of their numbers.
var capabilities = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
	SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
	AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF
	CHECKPOINT_RESTORE`)

// confine takes from the programs that the calling thread starts what the process is not granted.
func confine(p Process) error {
	granted := map[string]bool{}
	for _, name := range p.Capabilities {
		granted[strings.TrimPrefix(strings.ToUpper(name), "CAP_")] = true
	}
	for number, name := range capabilities {
		if granted[name] || granted["ALL"] {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EINVAL) { // this kernel does not have it
			return fmt.Errorf("drop the capability %s: %w", name, err)
		}
	}
	if p.NoNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("forbid new privileges: %w", err)
		}
	}
	return nil
}
