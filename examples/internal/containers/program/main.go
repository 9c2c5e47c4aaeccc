// Command program is the only program of the images with which containers are tested. Its first argument is what it
// does.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	code, err := do(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// do returns the exit code.
func do(what string, args []string) (int, error) {
	switch what {
	case "say": // every argument on a line, those with an exclamation mark as errors
		for _, line := range args {
			to := os.Stdout
			if strings.HasSuffix(line, "!") {
				to = os.Stderr
			}
			fmt.Fprintln(to, os.ExpandEnv(line))
		}
		return 0, nil
	case "exit":
		fmt.Println("exits")
		return strconv.Atoi(args[0])
	case "wait": // until SIGTERM
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		fmt.Println("waits")
		<-end
		fmt.Println("ends")
		return 0, nil
	case "ignore": // waits, and ignores SIGTERM
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGUSR1)
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("waits")
		<-end
		return 0, nil
	case "echo": // each line of its input
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println("read", lines.Text())
		}
		return 0, nil
	case "read":
		text, err := os.ReadFile(args[0])
		fmt.Print(string(text))
		return 0, err
	case "write":
		return 0, os.WriteFile(args[0], []byte(args[1]), 0o600)
	case "facts":
		return 0, facts()
	case "listen": // answers each connection with a line
		return 0, listen(args[0])
	}
	return 2, nil
}

// facts prints what the program sees of its container.
func facts() error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	files, err := filepath.Glob("/*")
	if err != nil {
		return err
	}
	fmt.Println("host", name, "user", os.Getuid(), "files", files)
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, at := range processes {
		line, _ := os.ReadFile(at) // it may have ended
		fmt.Println("process", strings.ReplaceAll(string(line), "\x00", " "))
	}
	return err
}

func listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		to, err := listener.Accept()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(to, "answer\n")
		_ = to.Close()
	}
}
