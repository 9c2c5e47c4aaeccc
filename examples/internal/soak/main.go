package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (ok bool, err error) {
	o := Options{Say: func(line string) { fmt.Println(line) }}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.StringVar(&o.Bin, "bin", "bin", "directory of nuon, reconciler and runnerd")
	flags.Uint64Var(&o.Seed, "seed", 0, "decides what breaks when; 0 takes one from the clock")
	flags.DurationVar(&o.For, "for", 5*time.Minute,
		"how long things break; coming to rest takes some minutes more at most")
	flags.IntVar(&o.Deploys, "deploys", 0,
		"stop breaking things after so many deploys, should they be done before; 0 for no such end")
	flags.IntVar(&o.Installs, "installs", 4, "how many installs there are")
	flags.DurationVar(&o.Pause, "pause", 3*time.Second, "the most that lies between two faults")
	faults := flags.String("faults", "all", "what may break: all, or some of "+strings.Join(kinds(), ","))
	flags.BoolVar(&o.Verbose, "v", false, "say each fault and each decision")
	count := flags.String("count", "", "count again what an earlier run left in this directory, and break nothing")
	keep := flags.Bool("keep", false, "keep the directory with all logs also when all is well")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if o.Bin, err = filepath.Abs(o.Bin); err != nil {
		return false, err
	}
	if o.Faults, err = parseKinds(*faults); err != nil {
		return false, err
	}
	if *count != "" {
		if o.Dir, err = filepath.Abs(*count); err != nil {
			return false, err
		}
		figures, err := Recount(ctx, o)
		fmt.Print(figures)
		return figures.Good(), err
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	dir, err := os.MkdirTemp("", "nuon-soak-")
	if err != nil {
		return false, err
	}
	// The user that runs Postgres needs access to subdirectories.
	if err := os.Chmod(dir, 0o755); err != nil {
		return false, err
	}
	o.Dir = dir
	fmt.Printf("soak: seed %d, %s, in %s\n", o.Seed, o.For, dir)
	figures, err := Soak(ctx, o)
	fmt.Print(figures)
	if err == nil && figures.Good() && !*keep {
		return true, os.RemoveAll(dir)
	}
	fmt.Printf("the logs, the database and the evidence are in %s; `-seed %d` breaks the same things again\n", dir, o.Seed)
	return figures.Good(), err
}
