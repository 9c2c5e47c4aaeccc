// Command up starts a simulated cloud for Terraform, prints the lines that make Terraform and
// runners use it, and runs until it is interrupted. Then it removes everything, unless a directory
// was named; the next start continues with the objects there.
//
//	go run ./examples/internal/cloud/up [-dir DIR] [-modules DIR] [-kubeconfig FILE]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
)

func main() {
	dir := flag.String("dir", "", "keep the objects in `DIR`")
	modules := flag.String("modules", "", "serve the modules in `DIR` as those of registry.terraform.io: "+
		"NAMESPACE/NAME/SYSTEM/VERSION/")
	kubeconfig := flag.String("kubeconfig", "", "let the Kubernetes of the kubeconfig `FILE` stand behind the clusters")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, cloud.Options{Dir: *dir, Modules: *modules, Kubeconfig: *kubeconfig}, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o cloud.Options, out io.Writer) (err error) {
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "nuon-cloud-"); err != nil {
			return fmt.Errorf("make a place for the cloud: %w", err)
		}
		defer os.RemoveAll(o.Dir) //nolint:errcheck // the system's temporary directory is emptied some day
	}
	c, err := cloud.Start(ctx, o)
	if err != nil {
		return err
	}
	path := "PATH=" + filepath.Join(o.Dir, "bin") + string(os.PathListSeparator)
	for _, variable := range c.Env() {
		if strings.HasPrefix(variable, path) {
			variable = path + "$PATH"
		}
		fmt.Fprintln(out, "export "+variable)
	}
	fmt.Fprint(os.Stderr, howTo)
	<-ctx.Done()
	return c.Close()
}

const howTo = `
The simulated cloud is ready, and stays until you press Ctrl-C. In another terminal, paste the lines above; then

  terraform init && terraform apply    apply any module of the simulated providers
  nuon dev                             install apps whose modules use them

  cloud objects                        print what exists, as JSON
  cloud remove aws_vpc vpc-0…          delete an object behind Terraform's back
  cloud drift aws_vpc vpc-0… tags '{"owner": "somebody"}'
                                       change one
  echo '[{"type": "aws_vpc", "operation": "create", "times": 1, "error": "no capacity"}]' | cloud faults
                                       make an operation fail, or slow by "delay": "10s"

Ids, addresses and keys are plausible, but nothing is behind them. examples/internal/cloud/provider/README.md
lists what is faithful and what is not.
`
