// Command seed makes the database of a control plane large, to measure its behavior with many
// installs: it copies one install that was really deployed. Never use it on a database that
// matters.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
)

func main() {
	dsn := flag.String("database-url", os.Getenv("DATABASE_URL"), "the control plane's `database`, as its owner")
	o := fleet.SeedOptions{}
	flag.StringVar(&o.Org, "org", "", "`name` of the org")
	flag.StringVar(&o.Install, "install", "", "`name` or id of the install that is copied")
	flag.IntVar(&o.Installs, "installs", 10_000, "how many copies there are to be")
	flag.IntVar(&o.History, "history", 5_000, "how many of them have workflows, plans and jobs, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	begun := time.Now()
	rows, err := fleet.Seed(ctx, *dsn, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		fmt.Printf("%-20s %d\n", table, rows[table])
	}
	fmt.Fprintf(os.Stderr, "in %s\n", time.Since(begun).Round(time.Millisecond))
}
