package pins

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/id"
)

// Install is an install as the control plane describes it and as a person named it.
type Install struct {
	ID   string
	App  string
	Name string
	// New reports that the person creates the install, and typed its app and its name.
	New bool
	// Typed is the name that the person typed for an install that exists: an id, a name or
	// app/name.
	Typed string
}

// String returns the name of the install for commands.
func (i Install) String() string {
	if i.App == "" {
		return i.Name
	}
	return i.App + "/" + i.Name
}

// Check returns an error if the install is not the one that the person named. A text in the form of an id means only
// the install with this id. Every other text means a name, or an app and a name, so a control plane cannot answer with
// another install whose id is that text. An id, app or name that is empty, cannot be printed or has a slash is an
// error, because a person could mistake it for another one.
func (i Install) Check() error {
	for _, text := range []string{i.ID, i.App, i.Name} {
		if text == "" || strings.Contains(text, "/") || console.Line(text) != text {
			return fmt.Errorf("the id, app or name of an install cannot be %q; nothing was sent", text)
		}
	}
	if i.New {
		return nil
	}
	app, name, qualified := strings.Cut(i.Typed, "/")
	if !qualified {
		app, name = i.App, i.Typed
	}
	named := app == i.App && name == i.Name
	if id.Valid("ins", i.Typed) {
		named = i.Typed == i.ID
	}
	if named {
		return nil
	}
	return fmt.Errorf("the control plane returned install %s (%s) for %q; nothing was sent", i, i.ID, i.Typed)
}

// Key is the key that a control plane returned for an install.
type Key struct {
	Fingerprint string
	// OfRunner reports that, according to the control plane, the runner of the install
	// holds the key. Otherwise it is the control plane's own.
	OfRunner bool
}

// whose describes the key in an error.
func (k Key) whose() string {
	if k.OfRunner {
		return k.Fingerprint
	}
	return k.Fingerprint + " as its own"
}

// Accept returns an error unless the values of an install may be sealed to a key. Given is the fingerprint of
// --key-fingerprint, or empty. Accept pins a key that a runner holds; remark is the message about that for the person.
//
// The decision depends on the fingerprint, not on the holder that the control plane
// reports. Only the first use, for an install without a pin and without a given
// fingerprint, relies on that holder.
func (s *Store) Accept(of Install, key Key, given string) (remark string, err error) {
	if err := of.Check(); err != nil {
		return "", err
	}
	pins := s.pinsFor(of)
	own := len(pins) > 0 && pins[0].Install == of.ID
	if own && (pins[0].Name != of.Name || !sameApp(pins[0].App, of.App)) {
		return "", fmt.Errorf("install %s is pinned as %s, but the control plane calls it %s; nothing was sent",
			of.ID, pins[0].address(), of)
	}
	if given != "" {
		if err := checkFingerprint(of, key, given, pins, own); err != nil {
			return "", err
		}
		return s.pin(of, key, pins, true)
	}
	if err := s.ambiguous(of); err != nil {
		return "", err
	}
	for _, pin := range pins {
		if pin.Fingerprint == key.Fingerprint {
			return s.pin(of, key, pins, false)
		}
	}
	switch {
	case own:
		return "", changedKeyError(of, pins[0], key)
	case len(pins) > 0:
		return "", replaced(of, pins[0], key)
	case !key.OfRunner:
		return "", nil
	}
	return s.pin(of, key, nil, false)
}

// checkFingerprint checks the given fingerprint against the install's pin and against the key.
func checkFingerprint(of Install, key Key, given string, pins []Pin, own bool) error {
	switch {
	case own && pins[0].Fingerprint != given:
		return fmt.Errorf("--key-fingerprint is %s, but the pinned key of %s is %s; nothing was sent\n  %s",
			given, of, pins[0].Fingerprint, compareHint(of))
	case key.Fingerprint == given:
		return nil
	case !key.OfRunner:
		return fmt.Errorf("the runner of this install has not registered yet: the control plane reports %s; "+
			"nothing was sent\n  Start the runner of %s, then enter the value with `nuon installs update`", key.whose(), of)
	}
	return fmt.Errorf("--key-fingerprint is %s, but the control plane reports %s for %s; nothing was sent\n  "+
		"Compare both with `runnerd status` on the runner's machine", given, key.Fingerprint, of)
}

// pin stores an accepted key. The remark is empty if the key was pinned already.
func (s *Store) pin(of Install, key Key, holding []Pin, given bool) (remark string, err error) {
	for _, pin := range holding {
		if pin.Install == of.ID && pin.Context == s.context && pin.Fingerprint == key.Fingerprint {
			return "", nil
		}
	}
	err = s.save(of, key.Fingerprint)
	switch {
	case err != nil && given:
		return fmt.Sprintf("%v; the next command needs --key-fingerprint again", err), nil
	case err != nil:
		return "", fmt.Errorf("%w; set NUON_CONFIG to a writable file, or pass --key-fingerprint", err)
	case len(holding) > 0 && holding[0].Fingerprint == key.Fingerprint:
		remark = ""
	case given:
		remark = fmt.Sprintf("pinned the key of %s: %s", of, key.Fingerprint)
	default:
		remark = fmt.Sprintf("pinned the key of %s on first use: %s; compare it with `runnerd status` on the "+
			"runner's machine",
			of, key.Fingerprint)
	}
	return remark, s.remove(s.earlier(of))
}

// changedKeyError returns the error for a key that differs from the pinned one.
func changedKeyError(of Install, pin Pin, key Key) error {
	return fmt.Errorf("the key of %s differs from the pinned key: pinned is %s (since %s), the control plane "+
		"reports %s; nothing was sent\n  Either the install's key changed, or the control plane reports a wrong "+
		"one. %s",
		of, pin.Fingerprint, pin.Since.Format("2006-01-02"), key.whose(), compareHint(of))
}

// replaced returns the error for a key that differs from that of an earlier install of
// the same name.
func replaced(of Install, pin Pin, key Key) error {
	remedy := compareHint(of)
	if of.New {
		remedy = fmt.Sprintf("If %[1]s was deleted and created again, delete the pin with `nuon installs forget "+
			"%[1]s`, or pass --key-fingerprint.", of)
	}
	return fmt.Errorf("%s is not the install whose key is pinned (%s): pinned is %s, the control plane reports %s; "+
		"nothing was sent\n  %s", of, pin.Install, pin.Fingerprint, key.whose(), remedy)
}

// compareHint describes how to accept another key.
func compareHint(of Install) string {
	return fmt.Sprintf("Compare it with `runnerd status` on the runner's machine; if they match, run `nuon "+
		"installs trust %s`.", of)
}
