// Command campaign runs many attacks of hostile parties against the real programs, and reports every
// breach with the seed that reproduces it. It exits with 1 if there was a breach.
//
//	go run ./examples/internal/attack/campaign -bin bin -attempts 2000 -seed 7 -party controlplane,runner
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/controlplane"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/operator"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/repository"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/runner"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/world"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
)

// options holds the command line.
type options struct {
	bin      string
	attempts int
	seed     uint64
	verbose  bool
}

// parties lists the attackers, in order.
var parties = []struct {
	name string
	run  func(ctx context.Context, o options, dir string) error
}{
	{"controlplane", againstRunner},
	{"runner", againstControlPlane(runner.Attacks)},
	{"operator", againstControlPlane(operator.Attacks)},
	{"repository", fromRepository},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("campaign", flag.ContinueOnError)
	flags.StringVar(&o.bin, "bin", "bin", "directory of nuon, reconciler and runnerd")
	flags.IntVar(&o.attempts, "attempts", 500, "how many attempts each party makes")
	flags.Uint64Var(&o.seed, "seed", 1, "decides about every attempt")
	flags.BoolVar(&o.verbose, "v", false, "print each attempt")
	chosen := flags.String("party", "all", "who attacks: all, or some of controlplane,runner,operator,repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	var failures []error
	for _, party := range parties {
		if *chosen != "all" && !slices.Contains(strings.Split(*chosen, ","), party.name) {
			continue
		}
		dir, err := fleet.Place()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d attempts, seed %d, in %s\n", party.name, o.attempts, o.seed, dir)
		if err := party.run(ctx, o, dir); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w; the logs are in %s", party.name, err, dir))
			continue
		}
		fmt.Printf("%s: no breach\n", party.name)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}

func (o options) campaign(ctx context.Context, attacks []attack.Attack) error {
	progress := func(string) {}
	if o.verbose {
		progress = func(line string) { fmt.Println(line) }
	}
	return attack.Campaign(ctx, attacks, o.seed, o.attempts, progress)
}

func againstRunner(ctx context.Context, o options, dir string) (err error) {
	machine, err := controlplane.NewMachine(ctx, o.bin, dir, controlplane.RunnerFile)
	defer func() { err = errors.Join(err, machine.Close()) }()
	if err != nil {
		return err
	}
	return errors.Join(o.campaign(ctx, controlplane.Attacks(machine)), machine.Last(ctx))
}

func againstControlPlane(list func(context.Context, *world.World) ([]attack.Attack,
	error)) func(context.Context, options, string) error {
	return func(ctx context.Context, o options, dir string) (err error) {
		w, err := world.Start(ctx, o.bin, dir)
		defer func() { err = errors.Join(err, w.Close()) }()
		if err != nil {
			return err
		}
		attacks, err := list(ctx, w)
		if err != nil {
			return err
		}
		return o.campaign(ctx, attacks)
	}
}

func fromRepository(ctx context.Context, o options, dir string) (err error) {
	server, err := repository.NewServer(dir)
	if err != nil {
		return err
	}
	defer server.Close()
	attacked, err := repository.Start(ctx, server, o.bin, dir)
	defer func() { err = errors.Join(err, attacked.Stop()) }()
	if err != nil {
		return err
	}
	return o.campaign(ctx, repository.Attacks(server, attacked))
}
