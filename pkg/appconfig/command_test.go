package appconfig

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitCommand(t *testing.T) {
	tests := map[string][]string{
		"":                              nil,
		"  a\tb\nc  ":                   {"a", "b", "c"},
		`a 'b c' "d e"f`:                {"a", "b c", "d ef"},
		`'' ""`:                         {"", ""},
		`a\ b \'c`:                      {"a b", "'c"},
		`"a\"b\\c\n" 'd\e'`:             {`a"b\c\n`, `d\e`},
		`x{{ index .nuon.a "b c" }}y`:   {`x{{ index .nuon.a "b c" }}y`},
		`"{{ .nuon.a | quote "x" }} z"`: {`{{ .nuon.a | quote "x" }} z`},
		`$HOME *`:                       {"$HOME", "*"},
	}
	for line, want := range tests {
		if got, err := SplitCommand(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`, `{{ a`} {
		if got, err := SplitCommand(line); err == nil {
			t.Errorf("%s: got %q", line, got)
		}
	}
}

// TestQuotedWordsComeBack checks that words that are quoted one by one are
// parsed back unchanged.
func TestQuotedWordsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOf(rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "{{") })).Draw(rt,
			"words")
		var line []string
		for _, word := range words {
			line = append(line, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
		}
		got, err := SplitCommand(strings.Join(line, " "))
		if err != nil || !slices.Equal(got, words) {
			rt.Fatalf("got %q, %v", got, err)
		}
	})
}

func TestCommandFile(t *testing.T) {
	for command, want := range map[string]string{
		"": "", "kubectl get pods": "", "{{.nuon.inputs.inputs.x}}/a": "", "./run.sh 'a b'": "scripts/run.sh",
		"db/import.sh": "scripts/db/import.sh", "./a/../b": "scripts/b",
	} {
		if got, err := CommandFile("scripts", command); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", command, got, err, want)
		}
	}
	for command, want := range map[string]string{
		"../run.sh": "outside of the directory", "a/../../b": "outside of the directory",
		"/bin/sh -c x": "outside of the directory", "./": "outside of the directory", "'./a": "a quote is not closed",
	} {
		if got, err := CommandFile("scripts", command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want %q", command, got, err, want)
		}
	}
}

// FuzzSplitCommand checks that any command line becomes words, or an error.
func FuzzSplitCommand(f *testing.F) {
	f.Add(`a 'b c' "d\"e" {{ .x | f "y z" }}`)
	f.Add(`\`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := SplitCommand(line)
		if err != nil {
			return
		}
		total := 0
		for _, word := range words {
			total += len(word)
		}
		if total > len(line) {
			t.Fatalf("%q has more in it than %q", words, line)
		}
	})
}
