// Package form shows a form of declared fields on the terminal and returns the
// values. It does not know what the values are for and sends nothing. Input into a
// sensitive field is not shown and is returned as a seal.Secret. The commands that
// create installs and run actions use it, only where a person can be prompted.
package form

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"
	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Page is a group of fields that are shown together. A page without fields is skipped.
type Page struct {
	Title, Description string
	Fields             []Field
}

// Field is one value to ask for.
type Field struct {
	Name        string // the key of the answer
	Title       string // default: the name
	Description string
	Type        string // "bool" is a choice; every other type is typed text
	Value       string // the initial value; ignored if Sensitive
	Required    bool   // must not be empty
	Sensitive   bool   // input is not shown
	// Choices are the values to choose from; nil for text. With Several, any number of them can be chosen.
	Choices []Choice
	Several bool
	// Check returns what is wrong with a non-empty value, as a text that follows
	// "this", such as "is not a number"; else "".
	Check func(value string) string
}

// Choice is a value that can be chosen.
type Choice struct {
	Value string
	About string // what is shown beside it; may be empty
}

// Answers holds the values by field name. It does not contain fields that still have their
// initial value.
type Answers struct {
	Plain  map[string]string
	Secret map[string]seal.Secret
	Chosen map[string][]string // of fields with Several
}

// Ask shows the pages one after the other. After Esc or Ctrl-C, and when ctx is canceled, it
// returns exitcode.Interrupted and no answers.
func Ask(ctx context.Context, c *console.Console, pages []Page) (Answers, error) {
	values := entries{text: map[string]*string{}, chosen: map[string]*[]string{}}
	groups := make([]*huh.Group, 0, len(pages))
	size := sizeOf(c)
	for _, p := range size.fit(pages) {
		groups = append(groups, size.group(p, values))
	}
	if len(groups) == 0 {
		return Answers{}, nil
	}
	f := huh.NewForm(groups...).WithTheme(theme(c)).WithKeyMap(keys()).WithShowHelp(size.roomy()).WithShowErrors(true)
	f.SubmitCmd, f.CancelCmd = tea.Quit, tea.Quit // a regular quit removes the form from the screen
	program := tea.NewProgram(f, tea.WithInput(c.In), tea.WithOutput(c.Err), tea.WithoutSignalHandler())
	stop := context.AfterFunc(ctx, program.Quit) // quit, because a killed program does not wait for its reader
	_, err := program.Run()
	stop()
	switch {
	case ctx.Err() != nil, f.State == huh.StateAborted:
		c.Messagef("canceled: nothing was changed")
		return Answers{}, exitcode.Interrupted
	case err != nil:
		return Answers{}, fmt.Errorf("ask on the terminal: %w", err)
	}
	return answers(pages, values), nil
}

// entries are what a person has entered so far, by the name of the field.
type entries struct {
	text   map[string]*string
	chosen map[string]*[]string
}

// answers returns the changed values.
func answers(pages []Page, values entries) Answers {
	a := Answers{Plain: map[string]string{}, Secret: map[string]seal.Secret{}, Chosen: map[string][]string{}}
	for _, p := range pages {
		for _, f := range p.Fields {
			if f.Several {
				a.Chosen[f.Name] = *values.chosen[f.Name]
				continue
			}
			switch value := *values.text[f.Name]; {
			case f.Sensitive && value != "":
				a.Secret[f.Name] = seal.NewSecret([]byte(value))
			case !f.Sensitive && value != f.Value:
				a.Plain[f.Name] = value
			}
		}
	}
	return a
}

// wrong returns what is wrong with a value, or "".
func (f Field) wrong(value string) string {
	switch {
	case value == "" && f.Required:
		return "a value is required"
	case value == "" || f.Check == nil:
		return ""
	}
	if wrong := f.Check(value); wrong != "" {
		return "this " + wrong
	}
	return ""
}

// size is the size of the terminal.
type size struct{ rows int }

// minRowsForHelp is the minimum number of rows for descriptions, key help and several fields on a page.
const minRowsForHelp = 12

func (s size) roomy() bool { return s.rows >= minRowsForHelp }

// fit returns the pages that have fields, or a page for each field where the terminal has few rows.
func (s size) fit(pages []Page) []Page {
	var all []Page
	for _, p := range pages {
		switch {
		case s.roomy() && len(p.Fields) > 0:
			all = append(all, p)
		case !s.roomy():
			for f := range slices.Chunk(p.Fields, 1) {
				all = append(all, Page{Fields: f})
			}
		}
	}
	return all
}

// sizeOf returns the size of the terminal on Err, or 24 rows if it is unknown.
func sizeOf(c *console.Console) size {
	if tty, is := c.Err.(*os.File); is {
		if _, rows, err := term.GetSize(int(tty.Fd())); err == nil && rows > 0 {
			return size{rows}
		}
	}
	return size{24}
}

func (s size) group(p Page, values entries) *huh.Group {
	fields := make([]huh.Field, 0, len(p.Fields))
	for _, f := range p.Fields {
		if f.Several {
			values.chosen[f.Name] = new([]string)
			fields = append(fields, s.several(f, values.chosen[f.Name]))
			continue
		}
		values.text[f.Name] = new(string)
		if !f.Sensitive {
			*values.text[f.Name] = f.Value
		}
		fields = append(fields, s.field(f, values.text[f.Name]))
	}
	g := huh.NewGroup(fields...)
	if s.roomy() {
		g = g.Title(console.Line(p.Title)).Description(console.Line(p.Description))
	}
	return g
}

// labels returns the title and the description of a field.
func (s size) labels(f Field) (title, description string) {
	title = console.Line(cmp.Or(f.Title, f.Name))
	if f.Required {
		title += " *"
	}
	if s.roomy() {
		description = console.Line(f.Description)
	}
	return title, description
}

// height returns the rows of a list of choices with its title and description.
func (s size) height(f Field) int {
	const around, least = 8, 3 // the title, the description and the help of the page; the title and two choices
	return min(len(f.Choices)+2, max(s.rows-around, least))
}

// several returns the widget for any number of choices.
func (s size) several(f Field, value *[]string) huh.Field {
	title, description := s.labels(f)
	return huh.NewMultiSelect[string]().Title(title).Description(description).Options(f.options()...).Value(value).
		Height(s.height(f)).Validate(func(chosen []string) error {
		if f.Required && len(chosen) == 0 {
			return errors.New("choose at least one, with space")
		}
		return nil
	})
}

// options returns the choices of a field.
func (f Field) options() []huh.Option[string] {
	all := make([]huh.Option[string], 0, len(f.Choices))
	for _, c := range f.Choices {
		label := strings.TrimSpace(console.Line(c.Value + "  " + c.About))
		all = append(all, huh.NewOption(label, c.Value))
	}
	return all
}

// field returns the widget for a value: a choice for a bool and for one of several values, else a line of text.
func (s size) field(f Field, value *string) huh.Field {
	title, description := s.labels(f)
	if len(f.Choices) > 0 {
		return huh.NewSelect[string]().Title(title).Description(description).Options(f.options()...).Value(value).
			Height(s.height(f))
	}
	if f.Type == "bool" && !f.Sensitive {
		return huh.NewSelect[string]().Title(title).Description(description).
			Options(choices(f)...).Value(value).Inline(true).Filtering(false)
	}
	in := huh.NewInput().Title(title).Description(description).Value(value).Validate(func(v string) error {
		if wrong := f.wrong(v); wrong != "" {
			return errors.New(wrong)
		}
		return nil
	})
	if f.Sensitive {
		in = in.EchoMode(huh.EchoModePassword)
	}
	return in
}

// choices returns true and false, and for an optional field without a value also the empty choice.
func choices(f Field) []huh.Option[string] {
	all := huh.NewOptions("true", "false")
	if !f.Required && f.Value == "" {
		all = append([]huh.Option[string]{huh.NewOption("(not set)", "")}, all...)
	}
	return all
}

// keys returns huh's key map, with arrow keys, and with Esc, which leaves the form like Ctrl-C.
func keys() *huh.KeyMap {
	k := huh.NewDefaultKeyMap()
	k.Quit = key.NewBinding(key.WithKeys("ctrl+c", "esc"))
	k.Input.Prev = key.NewBinding(key.WithKeys("shift+tab", "up"), key.WithHelp("↑", "back"))
	k.Input.Next = key.NewBinding(key.WithKeys("enter", "tab", "down"), key.WithHelp("enter", "next"))
	k.MultiSelect.Toggle = key.NewBinding(key.WithKeys(" ", "x"), key.WithHelp("space", "choose"))
	return k
}

// theme uses the terminal's 16 colors, or none.
func theme(c *console.Console) *huh.Theme {
	if !c.Color {
		return huh.ThemeBase()
	}
	return huh.ThemeBase16()
}
