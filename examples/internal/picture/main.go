// Command picture runs a command on a new terminal, and writes its output as an SVG: the pictures
// of docs/ are what the programs really print.
//
//	go run ./examples/internal/picture -columns 100 -theme dark -o docs/pictures/x.svg -- nuon diff manifests A B
//
// The same output gives the same bytes, so a picture changes only when the program does. It
// contains text and no embedded font.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// settings holds the flags.
type settings struct {
	columns, rows int
	theme         string
	out           string
	prompt        string
	dir           string
	steady        string
	exit          int
	limit         time.Duration
}

func main() {
	var s settings
	flag.IntVar(&s.columns, "columns", 100, "columns of the terminal")
	flag.IntVar(&s.rows, "rows", 0, "rows of the picture; 0 takes as many as the command fills")
	flag.StringVar(&s.theme, "theme", "dark", "dark or light")
	flag.StringVar(&s.out, "o", "", "file to write; empty writes to standard output")
	flag.StringVar(&s.prompt, "prompt", "", "command line to show in the first row; empty shows the command's own")
	flag.StringVar(&s.dir, "dir", "", "directory to run the command in")
	flag.StringVar(&s.steady, "steady", "", "regular expression of what differs from run to run, as the short hashes of "+
		"masked values: it is written as #111111, #222222 …")
	flag.IntVar(&s.exit, "exit", 0, "exit code that the command must have")
	flag.DurationVar(&s.limit, "limit", time.Minute, "how long the command may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, s, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, command []string) error {
	colors, known := themes[s.theme]
	switch {
	case !known:
		return fmt.Errorf("theme %q is not known; use dark or light", s.theme)
	case len(command) == 0:
		return fmt.Errorf("say which command to run behind --")
	case s.columns < 1 || s.columns > maxColumns || s.rows < 0 || s.rows > maxRows:
		return fmt.Errorf("%d×%d is no size; use up to %d columns and %d rows", s.columns, s.rows, maxColumns, maxRows)
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	shown, err := show(ctx, s, command)
	if err != nil {
		return err
	}
	if shown, err = steadied(shown, s.steady); err != nil {
		return err
	}
	prompt := s.prompt
	if prompt == "" {
		prompt = strings.Join(command, " ")
	}
	screen := emulate("\x1b[90m$\x1b[0m \x1b[1m"+prompt+"\x1b[0m\r\n"+shown, s.columns, s.rows)
	picture := draw(screen, s.columns, colors)
	if s.out == "" {
		_, err = os.Stdout.WriteString(picture)
		return err
	}
	return os.WriteFile(s.out, []byte(picture), 0o644) //nolint:gosec // a picture is for everybody
}
