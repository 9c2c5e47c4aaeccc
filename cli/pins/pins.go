// Package pins stores which key the runner of each install holds, as this machine first learned it. Sensitive inputs are sealed to a
// key that the control plane names; a pin is what a control plane that names another key is caught by.
//
// A pin is found by what a control plane cannot choose: its address, the name of the context, and how a person named the install.
// The ids that a control plane answers with are compared with a pin, and never lead around one.
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
	"github.com/nuon-toolkit/nuon/cli/exit"
)

// Pin is the key of one install.
type Pin struct {
	URL         string    `toml:"url"`
	Context     string    `toml:"context,omitempty"`
	Install     string    `toml:"install"`
	App         string    `toml:"app"`
	Name        string    `toml:"name"`
	Fingerprint string    `toml:"fingerprint"`
	Since       time.Time `toml:"since"`
}

// Store is the pins of one control plane.
type Store struct {
	dir     string // empty where there is no place for configuration
	url     string
	context string
	all     []Pin
}

// Dir returns the directory of the pins, beside the file of the contexts.
func Dir() (string, error) {
	file, err := contexts.Path()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(file), "install-keys"), nil
}

// Open reads the pins of the control plane that a context chooses. A file that cannot be read is an error: its pin would not hold.
func Open(context string) (*Store, error) {
	chosen, err := contexts.Choose(context)
	if err != nil {
		return nil, err
	}
	s := &Store{url: strings.TrimRight(chosen.URL, "/"), context: chosen.Name}
	if s.dir, err = Dir(); err != nil {
		return s, nil // nothing is pinned there, and save reports it
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

// Reset drops the pins of a control plane that was set up from nothing at the address of an earlier one, as `nuon dev` does.
func Reset(url string) error {
	dir, err := Dir()
	if err != nil {
		return nil // nothing is pinned
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
		return pin, exit.BadTOML(file, err)
	}
	if pin.URL == "" || pin.Install == "" || pin.Fingerprint == "" {
		return pin, exit.Usagef("%s: a pinned key has url, install and fingerprint; "+
			"remove the file, and compare the key again with `nuon installs trust`", file)
	}
	return pin, nil
}

// file returns the path of a pin. It is a digest, since the install's id is what a control plane answered.
func (s *Store) file(p Pin) string {
	sum := sha256.Sum256([]byte(p.URL + "\n" + p.Context + "\n" + p.Install))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+extension)
}

// save writes the pin of an install, readable by its owner alone, whole or not at all. Each pin has a file of its own, so that two
// commands at once lose none.
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
		err = contexts.Replace(s.file(pin), text)
	}
	if err != nil {
		return fmt.Errorf("pin the key of %s: %w", of, err)
	}
	s.all = append(slices.DeleteFunc(s.all, func(p Pin) bool { return s.file(p) == s.file(pin) }), pin)
	return nil
}

// remove forgets the pins that match.
func (s *Store) remove(match func(Pin) bool) error {
	for _, pin := range s.all {
		if !match(pin) {
			continue
		}
		if err := os.Remove(s.file(pin)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget a pinned key: %w", err)
		}
	}
	s.all = slices.DeleteFunc(s.all, match)
	return nil
}

// Find returns the pin that holds for an install: its own or, where it has none, one of an earlier install of its name.
func (s *Store) Find(of Install) (pin Pin, found bool) {
	if pins := s.holding(of); len(pins) > 0 {
		return pins[0], true
	}
	return Pin{}, false
}

// holding returns the pins that hold for an install: those of its id, in this context or in another one of the same control plane,
// else those of its name.
func (s *Store) holding(of Install) []Pin {
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

// namesake reports whether a pin is of an install that a person could have meant. One who named no app may have meant any app's.
func (s *Store) namesake(of Install, pin Pin) bool {
	return pin.Context == s.context && pin.Name == of.Name && (pin.App == of.App || of.Typed == pin.Name)
}

// Trust pins a key that a person has compared, in place of all that were pinned for the install.
func (s *Store) Trust(of Install, print string) error {
	if err := of.check(); err != nil {
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

// Forget removes the pins of an install that a person gave up, as they named it.
func (s *Store) Forget(typed string) error {
	return s.remove(func(p Pin) bool {
		return p.Install == typed || p.Context == s.context && (p.Name == typed || p.App+"/"+p.Name == typed)
	})
}
