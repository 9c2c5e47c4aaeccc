// Command terraform-provider-trouble is a Terraform provider whose objects are slow, ignore
// interrupts, fail, crash or drift, as configured. It serves the tests of nuon, and people who want
// to see how nuon handles a failing deploy.
//
// Its objects are files below one directory that anyone can read, change and remove. A journal
// beside them records what was really done to them, regardless of Terraform's state.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

// address is the source that a module names. The host does not exist: the provider always comes
// from a mirror.
const address = "nuon.test/examples/trouble"

func main() {
	made := func() provider.Provider { return trouble{} }
	if err := providerserver.Serve(context.Background(), made, providerserver.ServeOpts{Address: address}); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-trouble:", err)
		os.Exit(1)
	}
}
