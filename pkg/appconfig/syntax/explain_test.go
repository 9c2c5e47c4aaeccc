package syntax

import (
	"testing"

	"pgregory.net/rapid"
)

// TestWords: common mistakes in TOML are reported with their position and what to write instead.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"a =":                      `f:1:3: error: TOML syntax: a value is missing (write it behind the =, such as "text", 5 or true)`,
		"a =\nb = 1":               `f:1:4: error: TOML syntax: a value is missing (write it behind the =, such as "text", 5 or true)`,
		"a = \r\nb = 1":            `f:1:5: error: TOML syntax: a value is missing (write it behind the =, such as "text", 5 or true)`,
		"a = 1.11.4":               `f:1:5: error: TOML syntax: this is no number (write "1.11.4")`,
		"a = 5m # limit":           `f:1:5: error: TOML syntax: this is no number (write "5m")`,
		"a = 007":                  `f:1:5: error: TOML syntax: this is no number (write "007")`,
		"a = us-east-1":            `f:1:5: error: TOML syntax: a text stands in quotes (write "us-east-1")`,
		"a.b = two words":          `f:1:7: error: TOML syntax: a text stands in quotes (write "two words")`,
		"a = {{.nuon.install.id}}": `f:1:5: error: TOML syntax: a text stands in quotes (write "{{.nuon.install.id}}")`,
		"a = True":                 `f:1:5: error: TOML syntax: this is no value (write true)`,
		"a = yes":                  `f:1:5: error: TOML syntax: this is no value (write true)`,
		"a = null":                 `f:1:5: error: TOML syntax: there is no value for nothing (remove the key)`,
		"a = “x”":                  `f:1:5: error: TOML syntax: these quotes are not those of TOML (write straight ones: ")`,
		"a = \"x":                  `f:1:5: error: TOML syntax: a text is not closed on its line (close it with its quote, or write """ before and behind text of many lines)`,
		"a = \"x\nb = 1":           `f:1:5: error: TOML syntax: a text is not closed on its line (close it with its quote, or write """ before and behind text of many lines)`,
		"a = 'x\nb = 1":            `f:1:5: error: TOML syntax: a text is not closed on its line (close it with its quote, or write """ before and behind text of many lines)`,
		"a = \"\"\"\nx\n":          `f:2:2: error: TOML syntax: a text of many lines is not closed (write its three quotes behind it)`,
		"a: x":                     `f:1:2: error: TOML syntax: a key is followed by =, not by : (write =)`,
		"a b = 1":                  `f:1:3: error: TOML syntax: a key is followed by = (write KEY = VALUE, with quotes around a key of more than one word)`,
		"a = 1 b = 2":              `f:1:5: error: TOML syntax: this is no number (write "1 b = 2")`,
		"a = \"1\" b = 2":          `f:1:9: error: TOML syntax: something follows the value (begin a new line for each key)`,
		"a = \"{{ f \"b\" }}\"":    `f:1:12: error: TOML syntax: something follows the value (put the whole text into single quotes, or write \" for each quote in it)`,
		"a = \"C:\\path\"":         `f:1:8: error: TOML syntax: invalid escape character U+0070 'p' (write \\ for a backslash, or put the text into single quotes)`,
		"[a b]":                    `f:1:4: error: TOML syntax: the name of a table is not closed (write ] behind it, or quote what is not a letter, digit, _ or -)`,
	} {
		_, problem := Parse("f", []byte(text))
		if problem == nil {
			t.Errorf("%q is TOML", text)
		} else if got := problem.String(); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestExplained passes any message about any line, with any column.
func TestExplained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.SampledFrom([]string{
			"", "expected '=' after key", "expected newline but got U+002E '.'", "unexpected character U+0061 'a' at " +
				"start of value",
			"strings must be quoted", "integers cannot have leading zeroes", "expected keyword \"true\"",
		}).Draw(t, "message")
		line := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ab.]{0,3} ?=[ \t]{0,2}[a-z0-9"'#,. ]{0,9}`)).Draw(t,
			"line")
		if _, _, at := explainError(message, line, rapid.IntRange(-5, 50).Draw(t, "column")); at < 1 || at > len(line)+1 {
			t.Fatalf("the place %d is not in the line", at)
		}
	})
}
