// Command run installs real apps with the whole product and prints how far each came:
//
//	go run ./examples/internal/apps/run [-only APP,APP] [-keep] [-v] [-o json]
//	go run ./examples/internal/apps/run -scale 200 [-keep] [-v]
//
// NUON_CORPUS names a directory with the configs of public apps. Without it the apps are three of this
// repository, one for each cloud. With -scale it installs a small app of this repository many times, and prints the
// memory of the control plane.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/nuon-toolkit/nuon/examples/internal/apps"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
)

// errFewer means that fewer apps were installed than required.
var errFewer = errors.New("fewer apps than required")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	only := flag.String("only", "", "names of apps, separated by commas")
	keep := flag.Bool("keep", false, "keep the directory with all logs")
	verbose := flag.Bool("v", false, "print each step, not only how each app ended")
	output := flag.String("o", "table", "table or json")
	parallel := flag.Int("parallel", 0, "how many apps at the same time; 0 means one for each core")
	atLeast := flag.Int("at-least", 0, "exit 1 if fewer apps are installed and deprovisioned")
	scale := flag.Int("scale", 0, "install a small app as often instead, and fail if the control plane's memory grows")
	flag.Parse()
	found, err := find(*only)
	if *scale > 0 {
		found, err = apps.Find(filepath.Join(testdata, "scale"))
	}
	if err != nil {
		return err
	}
	dir, err := fleet.Place()
	if err != nil {
		return err
	}
	ended := atomic.Int32{}
	o := apps.Options{Dir: dir, Parallel: *parallel, Ended: func(r apps.Result) {
		if *scale == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d apps: %s\n", ended.Add(1), len(found), r)
		}
	}}
	if *verbose {
		o.Progress = os.Stderr
	}
	if o.Bin, err = fleet.Programs(ctx, dir); err != nil {
		return err
	}
	world, err := apps.Start(ctx, o, found)
	defer func() {
		err = errors.Join(err, world.Stop())
		if *keep {
			fmt.Fprintln(os.Stderr, "everything is in", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err != nil {
		return err
	}
	if *scale > 0 {
		return scaled(ctx, world, *scale)
	}
	return installed(world.Run(ctx), *output, *atLeast)
}

// installed prints the results, and fails if too few apps were installed.
func installed(results []apps.Result, output string, atLeast int) (err error) {
	if output == "json" {
		err = json.NewEncoder(os.Stdout).Encode(results)
	} else {
		err = apps.Print(os.Stdout, results)
	}
	if err != nil {
		return err
	}
	count := 0
	for _, r := range results {
		if r.Installed() {
			count++
		}
	}
	fmt.Fprintf(os.Stderr, "%d of %d apps were installed and removed\n", count, len(results))
	if count < atLeast {
		return fmt.Errorf("%w: %d of %d", errFewer, count, atLeast)
	}
	return nil
}

// scaled installs an app many times and prints the memory of the control plane.
func scaled(ctx context.Context, world *apps.World, installs int) error {
	measured, err := world.Scale(ctx, installs)
	for _, s := range measured {
		fmt.Printf("%d installs after %s: the control plane has %d MiB, at most %d MiB\n", s.Installs, s.After,
			s.Resident>>20, s.Peak>>20)
	}
	if err != nil {
		return err
	}
	return apps.CheckFlat(measured)
}

// testdata has the apps of this repository.
var testdata = filepath.Join("examples", "internal", "apps", "testdata")

// find returns the apps of the corpus, or else our own, with the names.
func find(only string) (found []*apps.App, err error) {
	if corpus := os.Getenv("NUON_CORPUS"); corpus != "" {
		found, err = apps.Find(corpus)
	} else {
		found, err = apps.Find(testdata)
	}
	if err != nil || only == "" {
		return found, err
	}
	names := strings.Split(only, ",")
	return slices.DeleteFunc(found, func(a *apps.App) bool { return !slices.Contains(names, a.Name) }), nil
}
