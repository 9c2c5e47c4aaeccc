package main

import "fmt"

// theme is the colors of a terminal.
type theme struct {
	plain, paper string
	sixteen      [16]string
}

// themes holds a dark and a light terminal, in which every color is readable on the background.
var themes = map[string]theme{
	"dark": {
		plain: "#dfe3e8", paper: "#15181d",
		sixteen: [16]string{
			"#2a2f37", "#f2716b", "#63b96c", "#d5a546", "#6aa5f0", "#c48df0", "#4fbcc9", "#c3c9d1",
			"#8a929e", "#ff8a83", "#7dd287", "#ecc064", "#8bbcff", "#d7abff", "#6fd5e1", "#ffffff",
		},
	},
	"light": {
		plain: "#1f2328", paper: "#fbfbfa",
		sixteen: [16]string{
			"#1f2328", "#c2221d", "#1b7a2f", "#8a5a00", "#1559c4", "#7d35bf", "#07727e", "#5c636d",
			"#6d747e", "#b3130e", "#11691f", "#754b00", "#0c48a8", "#6a22ad", "#035f6a", "#000000",
		},
	},
}

// color returns an ink in the form of SVG.
func (t theme) color(i ink) string {
	switch {
	case i == plain:
		return t.plain
	case i == paper:
		return t.paper
	case i < 16:
		return t.sixteen[i]
	case i >= 232:
		grey := 8 + 10*(int(i)-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	cube := int(i) - 16
	return fmt.Sprintf("#%02x%02x%02x", level(cube/36), level(cube/6%6), level(cube%6))
}

// level returns a step of the cube of 216 colors.
func level(step int) int {
	if step == 0 {
		return 0
	}
	return 55 + 40*step
}
