package installs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/pins"
	"github.com/nuon-toolkit/nuon/cli/secretinput"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// shownInstall is an install with the key that is pinned for it on this machine.
type shownInstall struct {
	api.Install
	PinnedFingerprint string `json:"pinned_key_fingerprint,omitempty"`
}

// pinOf returns the fingerprint that is pinned for an install; empty for none.
func pinOf(e *cmdenv.Env, i api.Install, typed string) (string, error) {
	known, err := pins.Open(e.Context)
	if err != nil {
		return "", err
	}
	pin, _ := known.Find(pinnedInstall(i, typed))
	return pin.Fingerprint, nil
}

// keyLine describes the key of an install.
func keyLine(i api.Install, pin string) string {
	switch {
	case i.KeyFingerprint == "" && pin == "":
		return "  key: none until its runner registers; values are sealed to the control plane's key"
	case i.KeyFingerprint == "":
		return "  key: none, but " + pin + " is pinned on this machine: no values are sealed"
	case pin == "":
		return "  key " + i.KeyFingerprint + ", not pinned on this machine"
	case pin == i.KeyFingerprint:
		return "  key " + i.KeyFingerprint + ", pinned on this machine"
	}
	return "  key " + i.KeyFingerprint + " DIFFERS from the pinned key " + pin +
		": compare it with `runnerd status`, then run `nuon installs trust " + address(i.App, i.Name) + "`"
}

// trustResult is the result of `nuon installs trust`.
type trustResult struct {
	Name        string `json:"name"`
	ID          string `json:"id"`
	App         string `json:"app"`
	Before      string `json:"pinned_before,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

func newTrust(e *cmdenv.Env) *cobra.Command {
	var text string
	c := &cobra.Command{
		Use:   "trust INSTALL",
		Short: "Pin the key of an install",
		Args:  cobra.ExactArgs(1),
		Long: `Pin the key of an install on this machine, replacing the pinned one.

The key is pinned when a value is first sealed for an install whose runner has registered. From then
on nothing is sealed to another key, nor to the control plane's own. If the key was replaced on
purpose ("nuon runners replace --new-key"), run "runnerd status" on the runner's machine, compare its
fingerprint with the one that this command displays, and confirm.

A script passes the fingerprint with --key-fingerprint; it must match the one from the control plane.`,
		Example: `  nuon installs trust acme
  nuon installs trust acme --key-fingerprint 3f0a-9c1e-77b2-04d5-e1a8-5b6c-2d90-f417`,
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: func(c *cobra.Command, args []string) error {
			given, err := fingerprint("--key-fingerprint", text)
			if err != nil {
				return err
			}
			return e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
				return trust(ctx, e, client, args[0], given)
			})(c, args)
		},
	}
	keyFlag(c, &text)
	return c
}

func trust(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, typed, given string) error {
	known, err := pins.Open(e.Context)
	if err != nil {
		return err
	}
	i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, typed))
	if err != nil {
		return err
	}
	of := pinnedInstall(i, typed)
	if err := of.Check(); err != nil {
		return err
	}
	key, err := secretinput.FetchKey(ctx, client, api.GetSealingKeyParams{Install: i.ID})
	if err != nil {
		return err
	}
	if key.Holder != api.SealingKeyHolderRunner {
		return fmt.Errorf("install %s has no key to pin: its runner has not registered; start the runner first", of)
	}
	pin, _ := known.Find(of)
	if err := confirmKey(ctx, e.Console, of, pin, key.Fingerprint(), given); err != nil {
		return err
	}
	if err := known.Trust(of, key.Fingerprint()); err != nil {
		return err
	}
	done := trustResult{Name: i.Name, ID: i.ID, App: i.App, Before: pin.Fingerprint, Fingerprint: key.Fingerprint()}
	return e.Console.Result(done, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, console.Line(fmt.Sprintf("pinned the key of %s: %s", of, done.Fingerprint)))
		return err
	})
}

// confirmKey returns an error unless a person confirms that a key is the right one, or
// --key-fingerprint matches it.
func confirmKey(ctx context.Context, c *console.Console, of pins.Install, pin pins.Pin, shown, given string) error {
	switch {
	case given == shown:
		return nil
	case given != "":
		return fmt.Errorf("--key-fingerprint is %s, but the control plane reports %s for %s; canceled: nothing was "+
			"pinned",
			given, shown, of)
	case !c.Asks():
		return exitcode.Usagef("the key of %s changed: pinned is %s, the control plane reports %s; pass "+
			"--key-fingerprint with the one that `runnerd status` prints on the runner's machine", of,
			cmp.Or(pin.Fingerprint, "none"), shown)
	}
	c.Messagef("key of %s\n  pinned   %s\n  current  %s\nCompare the current key with "+
		"`runnerd status` on the runner's machine.", of, cmp.Or(pin.Fingerprint, "none"), shown)
	answer, err := c.Ask(ctx, "Type yes if they match: ")
	if err != nil {
		return err
	}
	if answer != "yes" {
		return exitcode.With(exitcode.Rejected, errors.New("canceled: nothing was pinned"))
	}
	return nil
}
