// Package pins stores the key of each install's runner as this machine first saw it.
// Sensitive inputs are sealed to a key that the control plane returns; the pin detects
// a control plane that returns another key.
//
// A pin is looked up by values that a control plane cannot choose: its URL, the name
// of the context, and the name that a person typed for the install. Ids in responses
// are checked against a pin, but can never bypass one.
package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/id"
)

// Pin is the pinned key of one install.
type Pin struct {
	URL         string    `toml:"url"`
	Context     string    `toml:"context,omitempty"`
	Install     string    `toml:"install"`
	App         string    `toml:"app"`
	Name        string    `toml:"name"`
	Fingerprint string    `toml:"fingerprint"`
	Since       time.Time `toml:"since"`
}

// address returns the name of the pinned install with its app.
func (p Pin) address() string { return p.App + "/" + p.Name }

// Store holds the pins of one control plane.
type Store struct {
	dir     string // empty if there is no directory for configuration
	url     string
	context string
	all     []Pin
}

// Dir returns the directory of the pins, next to the file of the contexts.
func Dir() (string, error) {
	file, err := contexts.Path()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(file), "install-keys"), nil
}

// Open reads the pins of the control plane that a context selects. It returns an error
// for an unreadable file, because its pin would otherwise be ignored.
func Open(context string) (*Store, error) {
	chosen, err := contexts.SelectWithSource(context)
	if err != nil {
		return nil, err
	}
	s := &Store{url: strings.TrimRight(chosen.URL, "/"), context: chosen.Name}
	if s.dir, err = Dir(); err != nil {
		return s, nil //nolint:nilerr // nothing is pinned, and save returns the error
	}
	s.all, err = load(s.dir, s.url)
	return s, err
}

// load reads the pins of the control plane at url.
func load(dir, url string) ([]Pin, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the pinned keys: %w", err)
	}
	var all []Pin
	for _, file := range files {
		if filepath.Ext(file.Name()) != extension || strings.HasPrefix(file.Name(), ".") {
			continue
		}
		pin, err := read(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		if pin.URL == url {
			all = append(all, pin)
		}
	}
	return all, nil
}

// Reset removes the pins of a control plane that was replaced by a new one at the same
// URL, as `nuon dev` does.
func Reset(url string) error {
	dir, err := Dir()
	if err != nil {
		return nil //nolint:nilerr // nothing is pinned
	}
	s := &Store{dir: dir, url: strings.TrimRight(url, "/")}
	if s.all, err = load(s.dir, s.url); err != nil {
		return err
	}
	return s.remove(func(Pin) bool { return true })
}

const extension = ".toml"

func read(file string) (Pin, error) {
	var pin Pin
	text, err := os.ReadFile(file)
	if err != nil {
		return pin, fmt.Errorf("read a pinned key: %w", err)
	}
	if err := toml.Unmarshal(text, &pin); err != nil {
		return pin, exitcode.BadTOML(file, err)
	}
	if pin.URL == "" || pin.Install == "" || pin.Fingerprint == "" {
		return pin, exitcode.Usagef("%s: invalid pinned key: url, install and fingerprint are required; delete the "+
			"file, and pin the key again with `nuon installs trust`", file)
	}
	return pin, nil
}

// file returns the path of a pin. The name is a digest, because the install's id comes
// from the control plane.
func (s *Store) file(p Pin) string {
	sum := sha256.Sum256([]byte(p.URL + "\n" + p.Context + "\n" + p.Install))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+extension)
}

// save writes the pin of an install atomically, readable only by its owner. Each pin
// has its own file, so that concurrent commands lose no pins.
func (s *Store) save(of Install, print string) error {
	if _, err := Dir(); err != nil {
		return fmt.Errorf("pin the key of %s: %w", of, err)
	}
	pin := Pin{
		URL: s.url, Context: s.context, Install: of.ID, App: of.App, Name: of.Name,
		Fingerprint: print, Since: time.Now().UTC().Truncate(time.Second),
	}
	text, err := toml.Marshal(pin)
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err == nil {
		err = contexts.WriteFileAtomic(s.file(pin), text)
	}
	if err != nil {
		return fmt.Errorf("pin the key of %s: %w", of, err)
	}
	s.all = append(slices.DeleteFunc(s.all, func(p Pin) bool { return s.file(p) == s.file(pin) }), pin)
	return nil
}

// remove deletes the pins that match.
func (s *Store) remove(match func(Pin) bool) error {
	for _, pin := range s.all {
		if !match(pin) {
			continue
		}
		if err := os.Remove(s.file(pin)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete a pinned key: %w", err)
		}
	}
	s.all = slices.DeleteFunc(s.all, match)
	return nil
}

// Find returns the pin of an install: its own or, if it has none, that of an earlier
// install of the same name.
func (s *Store) Find(of Install) (pin Pin, found bool) {
	if pins := s.pinsFor(of); len(pins) > 0 {
		return pins[0], true
	}
	return Pin{}, false
}

// pinsFor returns the pins that apply to an install: those of its id, in any context
// of the same control plane, or otherwise those of its name.
func (s *Store) pinsFor(of Install) []Pin {
	var own, namesakes []Pin
	for _, pin := range s.all {
		switch {
		case pin.Install == of.ID:
			own = append(own, pin)
		case s.namesake(of, pin):
			namesakes = append(namesakes, pin)
		}
	}
	if len(own) > 0 {
		return own
	}
	return namesakes
}

// namesake reports whether the name that a person typed, or the name in a response, can mean the install of a pin. A
// name without an app can mean an install of any app.
func (s *Store) namesake(of Install, pin Pin) bool {
	return pin.Context == s.context && (of.Typed == pin.Name || of.Typed == pin.address() ||
		pin.Name == of.Name && sameApp(pin.App, of.App))
}

// sameApp reports whether two texts can mean the same app. A person may have named the app of a new install by its id.
func sameApp(one, other string) bool {
	return one == other || id.Valid("app", one) || id.Valid("app", other)
}

// ambiguous returns an error if a person typed a name without an app and installs of several apps are pinned under it.
// The control plane would otherwise choose one of the keys.
func (s *Store) ambiguous(of Install) error {
	first := ""
	for _, pin := range s.all {
		switch {
		case of.New || pin.Context != s.context || of.Typed != pin.Name || id.Valid("app", pin.App):
		case first == "":
			first = pin.App
		case first != pin.App:
			return fmt.Errorf("%q can mean %s/%s or %s: name the app; nothing was sent", of.Typed, first, pin.Name,
				pin.address())
		}
	}
	return nil
}

// Trust pins a key that a person has compared, and removes all other pins of the install.
func (s *Store) Trust(of Install, print string) error {
	if err := of.Check(); err != nil {
		return err
	}
	if err := s.save(of, print); err != nil {
		return err
	}
	return s.remove(func(p Pin) bool {
		return p.Install == of.ID && p.Context != s.context || s.earlier(of)(p)
	})
}

// earlier matches the pins of earlier installs of the same app and name.
func (s *Store) earlier(of Install) func(Pin) bool {
	return func(p Pin) bool {
		return p.Install != of.ID && p.Context == s.context && p.App == of.App && p.Name == of.Name
	}
}

// Forget removes the pins of an install by the name that the person typed.
func (s *Store) Forget(typed string) error {
	return s.remove(func(p Pin) bool {
		return p.Install == typed || p.Context == s.context && (p.Name == typed || p.address() == typed)
	})
}
