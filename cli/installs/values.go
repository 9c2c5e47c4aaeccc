package installs

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/cli/pins"
	"github.com/nuon-toolkit/nuon/cli/secretinput"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// values holds the values of inputs from the command line.
type values struct {
	plain   []string // NAME=VALUE
	files   []string // NAME=FILE or NAME=@FILE
	secrets []string // NAME, NAME=env:VAR or NAME=@FILE
	key     string   // fingerprint of the install's key; empty for the pinned one
}

func (v *values) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&v.plain, "input", nil, "set an input, NAME=VALUE (repeatable)")
	c.Flags().StringArrayVar(&v.files, "input-file", nil, "read an input from a file, NAME=@FILE (repeatable)")
	c.Flags().StringArrayVar(&v.secrets, "secret", nil,
		"set a sensitive input: NAME prompts for it, NAME=env:VAR and NAME=@FILE read it (repeatable)")
	keyFlag(c, &v.key)
}

// keyFlag adds --key-fingerprint.
func keyFlag(c *cobra.Command, print *string) {
	c.Flags().StringVar(print, "key-fingerprint", "",
		"accept only the install key with this `fingerprint` (from \"runnerd status\" on the runner's machine)")
}

// fingerprint reads a value of --key-fingerprint; empty stays empty.
func fingerprint(flag, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	print, err := seal.ParseFingerprint(text)
	if err != nil {
		return "", exitcode.Usagef("%s: %w", flag, err)
	}
	return print, nil
}

// any reports whether a value was given.
func (v *values) any() bool { return len(v.plain)+len(v.files)+len(v.secrets) > 0 }

// enteredValues holds values that were read and are not sealed yet.
type enteredValues struct {
	plain  map[string]string
	secret map[string]seal.Secret
}

// read reads the values of the flags, before anything is sent. They take precedence
// over those of more.
func (v *values) read(ctx context.Context, e *cmdenv.Env, more map[string]string) (enteredValues, error) {
	g := enteredValues{plain: map[string]string{}, secret: map[string]seal.Secret{}}
	maps.Copy(g.plain, more)
	var err error
	if v.key, err = fingerprint("--key-fingerprint", v.key); err != nil {
		return g, err
	}
	plain, err := keyvalue.Pairs("--input", v.plain)
	if err != nil {
		return g, err
	}
	maps.Copy(g.plain, plain)
	files, err := keyvalue.Files("--input-file", v.files)
	if err != nil {
		return g, err
	}
	maps.Copy(g.plain, files)
	for _, s := range v.secrets {
		name, from, _ := strings.Cut(s, "=")
		if g.secret[name], err = secretinput.Read(ctx, e.Console, name, from); err != nil {
			return g, err
		}
	}
	return g, nil
}

// add adds the values that a person entered in a form.
func (g enteredValues) add(a form.Answers) {
	maps.Copy(g.plain, a.Plain)
	maps.Copy(g.secret, a.Secret)
}

// names returns the names of the inputs that have a value.
func (g enteredValues) names() map[string]bool {
	all := map[string]bool{}
	for name := range g.plain {
		all[name] = true
	}
	for name := range g.secret {
		all[name] = true
	}
	return all
}

// check rejects a plain-text value for a sensitive input before anything is sent.
func (g enteredValues) check(config api.AppConfig) error {
	for _, in := range config.Inputs {
		if _, plain := g.plain[in.Name]; plain && in.Sensitive {
			return exitcode.Usagef("input %[1]s is sensitive: pass it with --secret %[1]s, so that it is sealed "+
				"before it leaves this machine", in.Name)
		}
	}
	return nil
}

// sealingContext identifies the install and key that sensitive inputs are sealed for.
type sealingContext struct {
	install pins.Install
	which   api.GetSealingKeyParams // the request for the key
	given   string                  // --key-fingerprint
}

// key returns the key to seal to, if it may be trusted with the values of the install;
// see pins.Store.Accept.
func (s sealingContext) key(ctx context.Context, e *cmdenv.Env, client *apiclient.Client) (secretinput.Key, error) {
	known, err := pins.Open(e.Context)
	if err != nil {
		return secretinput.Key{}, err
	}
	key, err := secretinput.FetchKey(ctx, client, s.which)
	if err != nil {
		return secretinput.Key{}, err
	}
	remark, err := known.Accept(s.install, pinned(key), s.given)
	if err != nil {
		return secretinput.Key{}, err
	}
	if remark != "" {
		e.Console.Messagef("%s", console.Line(remark))
	}
	return key, nil
}

// pinned converts a key for the comparison with a pin.
func pinned(key secretinput.Key) pins.Key {
	return pins.Key{Fingerprint: key.Fingerprint(), OfRunner: key.Holder == api.SealingKeyHolderRunner}
}

// pinnedInstall returns the install for package pins, with the name that was typed.
func pinnedInstall(i api.Install, typed string) pins.Install {
	return pins.Install{ID: i.ID, App: i.App, Name: i.Name, Typed: typed}
}

// seal returns the inputs of an install as they are sent, the sensitive ones sealed to its key.
func (g enteredValues) seal(ctx context.Context, e *cmdenv.Env, client *apiclient.Client,
	to sealingContext) ([]api.InputValue, error) {
	var key secretinput.Key
	if len(g.secret) > 0 {
		var err error
		if key, err = to.key(ctx, e, client); err != nil {
			return nil, err
		}
	}
	var out []api.InputValue
	for _, name := range slices.Sorted(maps.Keys(g.plain)) {
		out = append(out, api.InputValue{Name: name, Value: g.plain[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(g.secret)) {
		sealed, err := key.Seal(seal.InputContext(to.install.ID, name), g.secret[name])
		if err != nil {
			return nil, err
		}
		out = append(out, api.InputValue{Name: name, Sensitive: true, Sealed: sealed})
	}
	return out, nil
}

// appConfig returns the config of the app at the pinned release, or of the newest one
// if pinned is 0. For an app without a version it returns an empty config; the control
// plane reports the error where one is needed.
func appConfig(ctx context.Context, client *apiclient.Client, app string, pinned int) (api.AppConfig, error) {
	config, err := apiclient.Decode[api.AppConfig](client.GetAppConfig(ctx, app, &api.GetAppConfigParams{Release: pinned}))
	if apiclient.CodeIs(err, "not_found") || apiclient.CodeIs(err, "no_version") {
		return api.AppConfig{}, nil
	}
	return config, err
}
