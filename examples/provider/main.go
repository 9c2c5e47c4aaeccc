// Command terraform-provider-trouble is a Terraform provider whose objects are slow, deaf, failing, crashing or drifting, as their
// configuration says. It is for the tests of nuon and for people who want to see what nuon does when a deploy goes wrong.
//
// Its objects are files below one directory, so that anybody can look at them, change them, and remove them. A journal beside
// them says what was really done to them, whatever Terraform knows of it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

// address is the source that a module names. The host is one that nothing answers for: the provider only ever comes from a mirror.
const address = "nuon.test/examples/trouble"

func main() {
	made := func() provider.Provider { return trouble{} }
	if err := providerserver.Serve(context.Background(), made, providerserver.ServeOpts{Address: address}); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-trouble:", err)
		os.Exit(1)
	}
}
