package form

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// person is a user who fills in a form on a terminal.
type person struct {
	t       *testing.T
	master  *os.File
	screen  vt10x.Terminal
	answers chan Answers
	ended   chan error
	cancel  context.CancelFunc
}

// sit shows a form on a terminal of this size.
func sit(t *testing.T, columns, rows int, pages []Page) *person {
	t.Helper()
	t.Setenv("NO_COLOR", "1")
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil { //nolint:gosec // small
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &person{t: t, master: master, screen: vt10x.New(vt10x.WithSize(columns, rows), vt10x.WithWriter(master)),
		answers: make(chan Answers, 1), ended: make(chan error, 1), cancel: cancel}
	read := make(chan struct{})
	go func() { // the terminal emulator, until the terminal is closed
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			_, _ = p.screen.Write(buf[:n])
		}
	}()
	go func() { // the command, until it has its answers
		a, err := Ask(ctx, &console.Console{In: tty, Out: tty, Err: tty, InIsTerminal: true, ErrIsTerminal: true,
			Width: columns}, pages)
		p.answers <- a
		p.ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		_ = <-p.ended
		_ = tty.Close()
		_ = master.Close()
		<-read
	})
	return p
}

// sees waits until the terminal shows a text.
func (p *person) sees(text string) {
	p.t.Helper()
	testtime.UntilNoError(p.t, fmt.Sprintf("the terminal shows %q", text), func() error {
		if strings.Contains(p.screen.String(), text) {
			return nil
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			if !strings.Contains(p.screen.String(), text) {
				p.t.Fatalf("ended with %v; the terminal does not show %q but\n%s", err, text, p.screen)
			}
		default:
		}
		return fmt.Errorf("it shows\n%s", p.screen)
	})
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the end of the form and returns its result.
func (p *person) ends() (Answers, error) {
	p.t.Helper()
	select {
	case err := <-p.ended:
		p.ended <- err
		return <-p.answers, err
	case <-testtime.After():
		p.t.Fatalf("the form does not end:\n%s", p.screen)
		return Answers{}, nil
	}
}

var pages = []Page{
	{Title: "Sizing", Description: "How big it is", Fields: []Field{
		{Name: "replicas", Title: "Replicas", Description: "How many copies run", Type: "number", Value: "2",
			Check: (&appconfig.Input{Type: "number"}).Check},
		{Name: "public", Title: "Public", Type: "bool", Value: "false"},
	}},
	{Title: "Nothing to ask"},
	{Title: "Access", Fields: []Field{
		{Name: "token", Title: "Token", Type: "string", Required: true, Sensitive: true},
		{Name: "name", Title: "Name", Required: true, Check: func(v string) string {
			if strings.Contains(v, " ") {
				return "has a blank"
			}
			return ""
		}},
	}},
}

// TestForm fills in a form with the keyboard. Unchanged fields keep their defaults, an invalid
// value shows a message and is not accepted, and a secret never appears on the screen.
func TestForm(t *testing.T) {
	p := sit(t, 80, 24, pages)
	p.sees("How many copies run")
	p.types("x\r")
	p.sees("this is not a number")
	p.types("\x7f\x7f3\r") // delete x and 2
	p.sees("┃ Public")
	p.types("\x1b[D\r") // left arrow: true
	p.sees("┃ Token *")
	p.types("\r")
	p.sees("a value is required")
	p.types("hush\r")
	p.sees("┃ Name *")
	p.types("a b\r")
	p.sees("this has a blank")
	if strings.Contains(p.screen.String(), "hush") {
		t.Errorf("a secret is on the screen:\n%s", p.screen)
	}
	p.types("\x7f\x7f\r")
	got, err := p.ends()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"replicas": "3", "public": "true", "name": "a"}, got.Plain); d != "" {
		t.Error(d)
	}
	secret := got.Secret["token"]
	if len(got.Secret) != 1 || string(secret.Reveal()) != "hush" {
		t.Errorf("%d secrets", len(got.Secret))
	}
}

// TestFormOnASmallTerminal checks that every field can be read and filled in on 20 by 5, also the last of three on a
// page, and that the arrow goes back to the one before.
func TestFormOnASmallTerminal(t *testing.T) {
	p := sit(t, 20, 5, pages)
	p.sees("┃ Replicas")
	p.types("\r")
	p.sees("┃ Public")
	p.types("\r")
	p.sees("┃ Token *")
	p.types("s\r")
	p.sees("┃ Name *")
	p.types("acme\r")
	got, err := p.ends()
	if d := cmp.Diff(map[string]string{"name": "acme"}, got.Plain); d != "" || err != nil || len(got.Secret) != 1 {
		t.Error(d, err)
	}

	p = sit(t, 20, 5, []Page{{Title: "Ports", Fields: []Field{{Name: "first"}, {Name: "second"}, {Name: "third"}}}})
	p.sees("┃ first")
	p.types("1\r")
	p.sees("┃ second")
	p.types("2\r")
	p.sees("┃ third")
	p.types("\x1b[A") // up
	p.sees("┃ second")
	p.types("2\r")
	p.sees("┃ third")
	p.types("3\r")
	got, err = p.ends()
	if d := cmp.Diff(map[string]string{"first": "1", "second": "22", "third": "3"}, got.Plain); d != "" || err != nil {
		t.Error(d, err)
	}
}

// lists is a page with the two kinds of lists.
var lists = []Page{{Title: "Which", Fields: []Field{
	{Name: "install", Title: "Install", Required: true, Choices: []Choice{{"acme", "current"}, {"globex", "behind"},
		{"initech\x1b[2J", "stalled"}}},
	{Name: "wait", Title: "Wait", Value: "builds", Choices: []Choice{{Value: "builds"}, {Value: "installs"}}},
	{Name: "components", Title: "Components", Several: true, Required: true,
		Choices: []Choice{{"db", "current"}, {"web", "behind"}, {"cache", ""}}},
}}}

// TestChoices chooses from lists: with the arrow keys, with a filter, and several values with space. A list without a
// choice is not accepted if one is required.
func TestChoices(t *testing.T) {
	p := sit(t, 80, 24, lists)
	p.sees("globex  behind")
	p.types("j\r")
	p.sees("┃ Wait")
	p.types("\r")
	p.sees("┃ Components *")
	p.types("\r")
	p.sees("choose at least one")
	p.types(" G \r")
	got, err := p.ends()
	if d := cmp.Diff(map[string]string{"install": "globex"}, got.Plain); d != "" || err != nil {
		t.Error(d, err)
	}
	if d := cmp.Diff(map[string][]string{"components": {"db", "cache"}}, got.Chosen); d != "" {
		t.Error(d)
	}

	p = sit(t, 80, 24, lists)
	p.sees("acme  current")
	p.types("/")
	p.sees("┃ /")
	p.types("glo")
	p.sees("> globex")
	p.types("\r")
	p.sees("┃ Wait")
	p.types("j\r")
	p.sees("┃ Components *")
	p.types("/")
	p.sees("┃ /")
	p.types("we\r \r")
	got, err = p.ends()
	if d := cmp.Diff(map[string]string{"install": "globex", "wait": "installs"}, got.Plain); d != "" || err != nil {
		t.Error(d, err)
	}
	if d := cmp.Diff(map[string][]string{"components": {"web"}}, got.Chosen); d != "" {
		t.Error(d)
	}
}

// TestFormIsLeft checks that Esc, Ctrl-C and a canceled context end a form without answers.
func TestFormIsLeft(t *testing.T) {
	for name, key := range map[string]string{"Esc": "\x1b", "Ctrl-C": "\x03"} {
		p := sit(t, 80, 24, pages)
		p.sees("┃ Replicas")
		p.types("\x7f9")
		p.sees("> 9")
		p.types(key)
		if got, err := p.ends(); !errors.Is(err, exitcode.Interrupted) || len(got.Plain) > 0 {
			t.Errorf("%s ended with %v, %v", name, got, err)
		}
	}
	p := sit(t, 80, 24, pages)
	p.sees("┃ Replicas")
	p.cancel()
	if got, err := p.ends(); !errors.Is(err, exitcode.Interrupted) || len(got.Plain) > 0 {
		t.Errorf("the end of the command ended with %v, %v", got, err)
	}
}

// TestNothingToAsk checks that a form without fields needs no terminal.
func TestNothingToAsk(t *testing.T) {
	if got, err := Ask(t.Context(), &console.Console{}, []Page{{Title: "none"}}); err != nil || len(got.Plain) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}
