// Package rootfs unpacks the layers of container images.
//
// A layer is hostile input. A separate process unpacks it, whose root is the directory, so no path and no link of a
// layer leads out of it. That process is this program, started under another name, which it recognizes in init: this
// package imports little, so that it does so before the packages of Kubernetes are initialized.
package rootfs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// childName is the name of the process that unpacks a layer.
const childName = "cluster-unpack"

// Limits of what one layer may contain.
const (
	MaxBytes   = 8 << 30
	maxEntries = 500_000
)

func init() {
	if os.Args[0] != childName {
		return
	}
	if err := unpackIn(os.Args[1], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Apply unpacks a layer, which is a tar archive, over the content of a directory. It reads the layer to its end. Only
// root can do that. After an error the directory has a part of the layer.
func Apply(ctx context.Context, dir string, layer io.Reader) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env = []string{childName, dir}, []string{}
	cmd.Stdin, cmd.Stderr = layer, &said
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			return fmt.Errorf("unpack the layer: %s", text)
		}
		return fmt.Errorf("unpack the layer: %w", err)
	}
	return nil
}
