package review

import "github.com/nuon-toolkit/nuon/cli/screen"

// The parts of package screen that this package uses most.
type (
	cell  = screen.Cell
	entry = screen.Entry
	strip = screen.Strip
	style = screen.Style
	theme = screen.Theme
)
