package journeys_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// block is a block of commands in a page: the lines of a `sh` block, or the lines after `$` of a
// `console` block with their output.
type block struct {
	from, to int // the offsets of its content in the page
	lines    []line
}

// line is a command of a block, with its output as shown in the page.
type line struct{ command, prints string }

// fenced matches blocks of every language, so that the end of one is not mistaken for a start.
var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocksOf returns the blocks of commands in a page.
func blocksOf(t *testing.T, file string) (page string, blocks []block) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page = string(text)
	for _, at := range fenced.FindAllStringSubmatchIndex(page, -1) {
		language, b := page[at[2]:at[3]], block{from: at[4], to: at[5]}
		for text := range strings.Lines(page[b.from:b.to]) {
			command, typed := strings.CutPrefix(text, "$ ")
			switch {
			case language == "sh", language == "console" && typed:
				b.lines = append(b.lines, line{command: strings.TrimSuffix(command, "\n")})
			case len(b.lines) > 0:
				b.lines[len(b.lines)-1].prints += text
			}
		}
		if len(b.lines) > 0 {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block of commands", file)
	}
	return page, blocks
}
