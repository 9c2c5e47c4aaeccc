package tfbinary

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess/childtest"
)

// TestTheDirectoryOfAnotherUser checks that the tool starts in its directory, and that a link which a program put in
// the place of that directory takes it nowhere that its user may not go.
func TestTheDirectoryOfAnotherUser(t *testing.T) {
	root := childtest.UseOtherUser(t)
	modules, private, tool := filepath.Join(root, "modules"), filepath.Join(root, "private"), filepath.Join(root, "tool")
	module, link := filepath.Join(modules, "one"), filepath.Join(modules, "two")
	testprogram.Write(t, tool, "#!/bin/sh\necho in $(pwd) >&2\nexit 1\n")
	if err := errors.Join(os.MkdirAll(module, 0o700), os.Mkdir(private, 0o700), os.Symlink(private, link),
		subprocess.GrantOwnership(modules), subprocess.GrantRead(tool)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{module: "in " + module + "\n",
		link: "start Terraform: fork/exec " + tool + ": permission denied\n"} {
		standIn := Tool{Path: tool}.StandIn(testtime.Limit, t.Logf)
		library, err := Library(standIn, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		err = standIn.Run(t.Context(), &said, func(ctx context.Context, stderr io.Writer) error {
			library.SetStderr(stderr)
			_, _, err := library.Version(ctx, true)
			return err
		})
		if err == nil || said.String() != want {
			t.Errorf("in %s: %q, %v", dir, said.String(), err)
		}
	}
}
