package pins

import "fmt"

// Install is an install as a control plane describes it and as a person named it.
type Install struct {
	ID   string
	App  string
	Name string
	// Typed is what the person wrote: an id, a name or app/name. Empty for an install that is to be created.
	Typed string
}

// String names the install as the commands take it.
func (i Install) String() string {
	if i.App == "" {
		return i.Name
	}
	return i.App + "/" + i.Name
}

// check refuses another install than the person named.
func (i Install) check() error {
	switch i.Typed {
	case "", i.ID, i.Name, i.App + "/" + i.Name:
		return nil
	}
	return fmt.Errorf("the control plane answered with install %s (%s) for %q; nothing was sent", i, i.ID, i.Typed)
}

// Key is the key that a control plane names for an install.
type Key struct {
	Fingerprint string
	// OfRunner tells that the runner of the install holds it, as the control plane says; else it is the control plane's own.
	OfRunner bool
}

// whose names the holder in an error.
func (k Key) whose() string {
	if k.OfRunner {
		return k.Fingerprint
	}
	return k.Fingerprint + " as its own"
}

// Accept returns an error unless the values of an install may be sealed to a key. Given is the fingerprint of --key-fingerprint, or
// empty. A key that a runner holds is pinned; remark is what to tell the person about that.
//
// What counts is the fingerprint, and not who holds the key by the control plane's account. Only an install without a pin, and
// without a given fingerprint, takes that account: it is the first use.
func (s *Store) Accept(of Install, key Key, given string) (remark string, err error) {
	if err := of.check(); err != nil {
		return "", err
	}
	pins := s.holding(of)
	own := len(pins) > 0 && pins[0].Install == of.ID
	if own && pins[0].Name != of.Name {
		return "", fmt.Errorf("install %s is pinned as %s, and the control plane calls it %s; nothing was sent", of.ID, pins[0].Name, of.Name)
	}
	if given != "" {
		if err := matchGiven(of, key, given, pins, own); err != nil {
			return "", err
		}
		return s.pin(of, key, pins, true)
	}
	for _, pin := range pins {
		if pin.Fingerprint == key.Fingerprint {
			return s.pin(of, key, pins, false)
		}
	}
	switch {
	case own:
		return "", changed(of, pins[0], key)
	case len(pins) > 0:
		return "", replaced(of, pins[0], key)
	case !key.OfRunner:
		return "", nil
	}
	return s.pin(of, key, nil, false)
}

// matchGiven checks a key against the fingerprint that a person gave, and that against the pin of the install.
func matchGiven(of Install, key Key, given string, pins []Pin, own bool) error {
	switch {
	case own && pins[0].Fingerprint != given:
		return fmt.Errorf("--key-fingerprint is %s, and the pinned key of %s is %s; nothing was sent\n  %s",
			given, of, pins[0].Fingerprint, compare(of))
	case key.Fingerprint == given:
		return nil
	case !key.OfRunner:
		return fmt.Errorf("the runner of this install has not registered yet: the control plane shows %s; nothing was sent\n"+
			"  Start the runner of %s, then enter the value with `nuon installs update`.", key.whose(), of)
	}
	return fmt.Errorf("--key-fingerprint is %s, and the control plane shows %s for %s; nothing was sent\n"+
		"  Compare both with `runnerd status` on the runner's machine.", given, key.Fingerprint, of)
}

// pin stores a key that may be sealed to, and says so unless it was pinned already.
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
		return "", fmt.Errorf("%w; set NUON_CONFIG to a file that can be written, or give --key-fingerprint", err)
	case len(holding) > 0 && holding[0].Fingerprint == key.Fingerprint:
		remark = ""
	case given:
		remark = fmt.Sprintf("pinned the key of %s: %s", of, key.Fingerprint)
	default:
		remark = fmt.Sprintf("first use: pinned the key of %s, %s; compare it with `runnerd status` on the runner's machine",
			of, key.Fingerprint)
	}
	return remark, s.remove(s.earlier(of))
}

// changed is the error of a key that is not the pinned one.
func changed(of Install, pin Pin, key Key) error {
	return fmt.Errorf("the key of %s is not the pinned one: pinned is %s (since %s), the control plane shows %s; nothing was sent\n"+
		"  The key of the install changed, or the control plane shows another one. %s",
		of, pin.Fingerprint, pin.Since.Format("2006-01-02"), key.whose(), compare(of))
}

// replaced is the error of a key that is not the one of an earlier install of that name.
func replaced(of Install, pin Pin, key Key) error {
	remedy := compare(of)
	if of.Typed == "" {
		remedy = fmt.Sprintf("If %[1]s was forgotten and is to be made again, `nuon installs forget %[1]s` drops the pin; "+
			"or give --key-fingerprint.", of)
	}
	return fmt.Errorf("%s is another install than the one whose key is pinned (%s): pinned is %s, "+
		"the control plane shows %s; nothing was sent\n  %s", of, pin.Install, pin.Fingerprint, key.whose(), remedy)
}

// compare says how to accept another key.
func compare(of Install) string {
	return fmt.Sprintf("Compare it with `runnerd status` on the runner's machine; "+
		"if they are the same, run `nuon installs trust %s`.", of)
}
