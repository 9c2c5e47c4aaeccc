package main

import (
	"fmt"
	"slices"
	"strings"
)

// The size of one character, of the letters in it, and of the frame around the screen, in tenths of
// a pixel.
const (
	cellWidth, cellHeight = 84, 180
	letters, base         = 140, 133
	frame                 = 140
)

// draw returns a screen as SVG.
func draw(screen [][]cell, columns int, t theme) string {
	d := drawing{theme: t, used: map[string]string{}}
	for y, row := range screen {
		d.papers(y, row)
		d.texts(y, row)
	}
	width, height := columns*cellWidth+2*frame, len(screen)*cellHeight+2*frame
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s">`+"\n",
		tenths(width), tenths(height))
	fmt.Fprintf(&b, "<style>text{font-family:ui-monospace,monospace;font-size:%spx;fill:%s}%s</style>\n",
		tenths(letters), t.plain, d.classes())
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", t.paper)
	b.WriteString(d.b.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// drawing collects the shapes of a picture, and the classes for the colors that they use.
type drawing struct {
	theme theme
	b     strings.Builder
	used  map[string]string
}

// classes returns the used styles in a fixed order.
func (d *drawing) classes() string {
	var all []string
	for class, style := range d.used {
		all = append(all, "."+class+"{"+style+"}")
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// papers draws the backgrounds.
func (d *drawing) papers(y int, row []cell) {
	for x := 0; x < len(row); {
		end := x + 1
		for end < len(row) && row[end].paper == row[x].paper {
			end++
		}
		if row[x].paper != paper {
			fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n",
				tenths(frame+x*cellWidth), tenths(frame+y*cellHeight), tenths((end-x)*cellWidth), tenths(cellHeight),
				d.theme.color(row[x].paper))
		}
		x = end
	}
}

// texts draws the characters of a row. Neighbors of one style are one text with an explicit width,
// so that every font preserves the columns.
func (d *drawing) texts(y int, row []cell) {
	for x := 0; x < len(row); {
		if row[x].char == ' ' || row[x].char == filler {
			x++
			continue
		}
		if row[x].char == '│' {
			d.rule(x, y, row[x].ink)
			x++
			continue
		}
		end := stretch(row, x)
		d.text(x, y, row[x:end])
		x = end
	}
}

// stretch returns the end of the text that starts at x: it ends before another style, two blanks or
// a vertical line.
func stretch(row []cell, x int) int {
	end := x + 1
	for ; end < len(row); end++ {
		c := row[end]
		blank := c.char == ' ' && (end+1 == len(row) || row[end+1].char == ' ' || !alike(row[end+1], row[x]))
		if blank || c.char == '│' || c.char != ' ' && !alike(c, row[x]) {
			break
		}
	}
	return end
}

func alike(a, b cell) bool { return a.ink == b.ink && a.strong == b.strong && a.paper == b.paper }

func (d *drawing) text(x, y int, cells []cell) {
	var said strings.Builder
	for _, c := range cells {
		if c.char != filler {
			said.WriteRune(c.char)
		}
	}
	fmt.Fprintf(&d.b, `<text x="%s" y="%s" textLength="%s" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
		tenths(frame+x*cellWidth), tenths(frame+y*cellHeight+base), tenths(len(cells)*cellWidth), d.class(cells[0]),
		escaped.Replace(said.String()))
}

// rule draws a vertical line without the gaps that characters leave between rows.
func (d *drawing) rule(x, y int, of ink) {
	fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="1" height="%s" fill="%s"/>`+"\n",
		tenths(frame+x*cellWidth+cellWidth/2), tenths(frame+y*cellHeight), tenths(cellHeight), d.theme.color(of))
}

// class returns the attribute for the style of a cell; empty for plain text.
func (d *drawing) class(c cell) string {
	var names []string
	if c.ink != plain {
		name := fmt.Sprintf("c%d", c.ink)
		if c.ink < 0 {
			name = "p"
		}
		d.used[name] = "fill:" + d.theme.color(c.ink)
		names = append(names, name)
	}
	if c.strong {
		d.used["b"] = "font-weight:bold"
		names = append(names, "b")
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// tenths formats a length in tenths of a pixel. Integers avoid rounding differences between
// machines.
func tenths(n int) string {
	if n%10 == 0 {
		return fmt.Sprintf("%d", n/10)
	}
	return fmt.Sprintf("%d.%d", n/10, n%10)
}
