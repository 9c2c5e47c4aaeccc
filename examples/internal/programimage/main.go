// Command programimage packs the programs of nuon into container images without a daemon:
//
//	programimage -programs DIR -version VERSION [-layout DIR] [-push HOST/PATH] [-plain-http]
//
// It reads static programs from DIR/linux-amd64 and DIR/linux-arm64, and makes the images "reconciler" and "runnerd",
// each for both platforms. The same programs and version result in the same bytes. -layout writes each image into a
// separate OCI layout (DIR/runnerd), -push sends it to a registry (HOST/PATH/runnerd:VERSION), with the logins of
// `docker login`. It prints the reference and the digest of each image.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "programimage:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	programs, version, layout, push string
	plainHTTP                       bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("programimage", flag.ContinueOnError)
	flags.StringVar(&o.programs, "programs", "", "the `directory` with linux-amd64 and linux-arm64 (required)")
	flags.StringVar(&o.version, "version", "", "the version, which is also the tag (required)")
	flags.StringVar(&o.layout, "layout", "", "write the images into OCI layouts below this `directory`")
	flags.StringVar(&o.push, "push", "", "push the images to repositories below this `HOST/PATH`")
	flags.BoolVar(&o.plainHTTP, "plain-http", false, "push without TLS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.programs == "" || o.version == "" || o.layout == "" && o.push == "" || flags.NArg() > 0 {
		return errors.New("use -programs, -version, and -layout or -push")
	}
	for _, program := range programs {
		if err := o.make(ctx, program, out); err != nil {
			return fmt.Errorf("image of %s: %w", program.name, err)
		}
	}
	return nil
}

// make builds the image of a program, writes or pushes it, and prints where it is.
func (o options) make(ctx context.Context, p program, out io.Writer) error {
	store := memory.New()
	index, err := build(ctx, store, p, o.programs, o.version)
	if err != nil {
		return err
	}
	if o.layout != "" {
		dir := filepath.Join(o.layout, p.name)
		if err := writeLayout(ctx, store, index, dir, o.version); err != nil {
			return err
		}
		fmt.Fprintf(out, "oci:%s:%s@%s\n", dir, o.version, index.Digest)
	}
	if o.push != "" {
		repository, err := o.repository(p.name)
		if err != nil {
			return err
		}
		if err := store.Tag(ctx, index, o.version); err != nil {
			return err
		}
		if _, err := oras.Copy(ctx, store, o.version, repository, o.version, oras.DefaultCopyOptions); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s/%s:%s@%s\n", o.push, p.name, o.version, index.Digest)
	}
	return nil
}

// repository returns the repository to push an image to, with the logins of Docker's configuration.
func (o options) repository(name string) (*remote.Repository, error) {
	repository, err := remote.NewRepository(o.push + "/" + name)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = o.plainHTTP
	logins, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, err
	}
	repository.Client = &auth.Client{Cache: auth.NewCache(), Credential: credentials.Credential(logins)}
	return repository, nil
}
