// Command find prints the directory of the terraform executable with exactly the given version:
// one on PATH, or else one that it fetches into the user's cache. `make test` prepends it
// to PATH, so that the tests run on a machine without Terraform.
//
//	go run ./runnerd/tfbinary/find 1.11.4
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "find:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("name one version, such as 1.11.4")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a place for Terraform: %w", err)
	}
	found, err := tfbinary.Find(ctx, tfbinary.Options{Root: filepath.Join(cache, "nuon"), Version: args[0]})
	if err != nil {
		return err
	}
	_, err = fmt.Println(filepath.Dir(found.Path))
	return err
}
