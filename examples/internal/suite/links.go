package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/scratch"
)

// The go command keeps packages in its cache, but no test programs: it links each of them again in
// every run, for a sixth of the processor time of a run. So it runs the linker through `suite tool`
// (the option -toolexec of go build), which keeps what the linker writes.

// linkSpace is the number of bytes that a disk must have for kept test programs, used or free. Those
// of a whole run take less than half of it.
const linkSpace = 12 << 30

// links is a directory with the output of linkers: one file for each package and kind of program,
// from its last link. The name ends with a digest of the linker's -buildid, which the go command
// derives from all inputs and flags of the link.
type links string

// keptLinks returns the directory in the user's cache. ok is false if its disk has too little space.
func keptLinks() (l links, ok bool) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", false
	}
	l = links(filepath.Join(cache, "nuon-tools", "links"))
	if err := os.MkdirAll(string(l), 0o750); err != nil {
		return "", false
	}
	space := scratch.Free(string(l))
	kept, _ := os.ReadDir(string(l)) // what cannot be read does not count
	for _, file := range kept {
		if info, err := file.Info(); err == nil {
			space += uint64(info.Size()) //nolint:gosec // sizes are not negative
		}
	}
	return l, space >= linkSpace
}

// toolexec returns the value of -toolexec with which suite runs the linker.
func toolexec(suite string, l links) string {
	var quoted []string // as the go command reads it: there is no escape within quotes
	for _, word := range []string{suite, "tool", string(l)} {
		quote := "'"
		if strings.Contains(word, quote) {
			quote = `"`
		}
		quoted = append(quoted, quote+word+quote)
	}
	return strings.Join(quoted, " ")
}

// tool runs a tool of the Go toolchain for the go command. The arguments are the directory of links
// and the command. It returns after a link or an error.
func tool(args []string) (code int, err error) {
	if len(args) < 2 {
		return 2, errors.New("name a directory, a tool of the Go toolchain, and its arguments")
	}
	l, command := links(args[0]), args[1:]
	if filepath.Base(command[0]) != "link" || buildID(command) == "" || output(command) == "" {
		return 1, syscall.Exec(command[0], command, os.Environ()) //nolint:gosec // the go command's own
	}
	return l.link(command)
}

// link writes the program that a linker with its arguments would write: the kept one, or that of
// the linker.
func (l links) link(args []string) (code int, err error) {
	out, prefix := output(args), l.prefix(args)
	kept := prefix + digest(buildID(args))
	if copyFile(out, kept) == nil {
		return 0, nil
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // the go command's own
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		if exited := (*exec.ExitError)(nil); errors.As(err, &exited) && exited.Exited() {
			return exited.ExitCode(), nil
		}
		return 1, err
	}
	// The program is linked. That it cannot be kept costs the next run time.
	previous, _ := filepath.Glob(prefix + "*")
	if copyFile(kept, out) == nil {
		for _, file := range previous {
			_ = os.Remove(file)
		}
	}
	return 0, nil
}

// prefix begins the names of the files of the same package and kind of program.
func (l links) prefix(args []string) string {
	kind := []string{os.Getenv("TOOLEXEC_IMPORTPATH")} // which the go command sets
	for _, arg := range args[1:] {
		if slices.Contains([]string{"-race", "-s", "-w"}, arg) {
			kind = append(kind, arg)
		}
	}
	return filepath.Join(string(l), digest(strings.Join(kind, " "))+"-")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// output returns the file that a linker with these arguments writes.
func output(args []string) string {
	if i := slices.Index(args, "-o"); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// buildID returns the linker's option -buildid.
func buildID(args []string) string {
	for _, arg := range args {
		if id, found := strings.CutPrefix(arg, "-buildid="); found {
			return id
		}
	}
	return ""
}

// copyFile copies a program. The copy appears under its name only if it is complete.
func copyFile(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()                                                     //nolint:errcheck // it was only read
	part, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+"-part-") // of a kept file, link removes what is left
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name())
		}
	}()
	_, copied := io.Copy(part, source)
	if err := errors.Join(copied, part.Chmod(0o755), part.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return os.Rename(part.Name(), to)
}
